import type { TextKey, Translate } from "../../texts.js";

/** Names of what a change may set of maps, folders, layers and columns. */
const texts: Readonly<Record<string, TextKey>> = {
  base_map: "baseMap",
  code: "memberCode",
  comment: "mapDescription",
  constraints: "memberConstraints",
  css_style: "memberStyle",
  style_mode: "memberStyle",
  render_type: "memberStyle",
  has_publication: "memberPublic",
  icon: "memberIcon",
  localized_name: "memberName",
  name: "memberName",
  names: "memberName",
  parent_id: "memberPlace",
  sort: "memberPlace",
  place: "memberPlace",
  publication: "memberPublication",
  required: "memberRequired",
  search: "search",
  selected: "memberSelected",
  source: "memberSource",
  start_view: "startView",
  type: "memberType",
  visual_settings: "visualTab",
  visual_custom_settings: "visualTab",
};

/** What the member of that name is called; one that few know has the name that the API gives it. */
export const memberText = (name: string, t: Translate): string => {
  const key = Object.hasOwn(texts, name) ? texts[name] : undefined;
  return key ? t(key) : name === "json" ? t("memberSettings") : name;
};
