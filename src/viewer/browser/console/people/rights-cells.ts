import { h, icon } from "../../dom.js";
import type { TextKey, Translate } from "../../texts.js";
import {
  bits,
  type Extent,
  grantAt,
  type Member,
  type RightsMap,
  rightsAt,
  usualRights,
} from "./effective.js";
import type { Frame } from "./frame.js";

/** How rights are shown and chosen in a row of a table. */

export const roleTexts = { admin: "roleAdmin", editor: "roleEditor", viewer: "roleViewer" } as const;

const levels: ReadonlyMap<number, TextKey> = new Map([
  [0, "rightsNone"],
  [1, "rightsRead"],
  [3, "rightsObjects"],
  [5, "rightsStructure"],
  [7, "rightsAll"],
  [15, "rightsAdmin"],
]);
/** Those that can be chosen: of users, and of the public. */
const offered = { user: [0, 1, 3, 7, 15], everybody: [0, 1] } as const;

const levelText = (rights: number, t: Translate): string =>
  t(levels.get(rights) ?? (rights & bits.administer ? "rightsAdmin" : "rightsRead"));

export const nameOf = ({ id, login }: Member, t: Translate): string => (id === 0 ? t("everybody") : login);

export interface RightsOn {
  /** undefined = all maps. */
  readonly map?: RightsMap | undefined;
  readonly layer?: string | undefined;
  /** In words. */
  readonly title: string;
}

/** What somebody may do there, to be chosen. */
export function rightsSelect(
  frame: Frame,
  member: Member,
  { map, layer, title }: RightsOn,
): HTMLSelectElement {
  const { t, store } = frame;
  const { everybody } = store;
  const place = { map: map?.code, layer };
  const given = grantAt(member, place);
  const isAdmin = member.role === "admin";
  const values = new Set<number>(member.id === 0 ? offered.everybody : offered.user);
  if (given !== null) values.add(given);
  const usual = t("rightsDefault", { rights: levelText(usualRights(member, everybody, map, layer), t) });
  const key = `rights-${member.id}-${map?.code ?? ""}-${layer ?? ""}`;
  const select = h(
    "select",
    {
      ...{ class: "field people-select", "data-key": key, disabled: isAdmin || !store.mayChange },
      "aria-label": t("rightsOfAt", { name: nameOf(member, t), place: title }),
    },
    ...(isAdmin
      ? [h("option", {}, levelText(rightsAt(member, everybody, map, layer), t))]
      : [
          h("option", { value: "", selected: given === null }, usual),
          ...[...values]
            .sort((one, other) => one - other)
            .map((value) =>
              h("option", { value: String(value), selected: value === given }, levelText(value, t)),
            ),
        ]),
  );
  select.addEventListener("change", () => {
    const { value } = select;
    void frame.work(() => store.setRights(member, place, value === "" ? null : Number(value)));
  });
  return select;
}

/** Whether somebody has a right there. @param title of the column, which phones show beside it */
export function extentCell(t: Translate, extent: Extent | string, title: string): HTMLTableCellElement {
  const content =
    extent === "all"
      ? [icon("check"), h("span", { class: "visually-hidden" }, t("yes"))]
      : extent === "none"
        ? [h("span", { "aria-hidden": "true" }, "–"), h("span", { class: "visually-hidden" }, t("no"))]
        : [h("span", {}, extent === "some" ? t("someLayers") : extent)];
  return h("td", { class: "people-extent", "data-title": title, "data-extent": extent }, ...content);
}

export const onLayer = (rights: number, right: number): Extent => ((rights & right) !== 0 ? "all" : "none");
