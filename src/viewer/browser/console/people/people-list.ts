import { button, h, icon } from "../../dom.js";
import { confirmed } from "../confirmed.js";
import { dayOf } from "../invitation-address.js";
import { addPersonView } from "./add-person.js";
import {
  bits,
  extentOn,
  type Member,
  type RightsMap,
  type RightsPlace,
  type Role,
  rightsAt,
} from "./effective.js";
import type { Frame, View } from "./frame.js";
import type { LayerName } from "./people-store.js";
import { personView } from "./person-view.js";
import { extentCell, nameOf, onLayer, rightsSelect, roleTexts } from "./rights-cells.js";

/** Who is in the project, and who sees and edits one of its maps or layers, or how many of its maps. */

export function peopleListView(frame: Frame, events: { giveUp(): void }, opened: RightsPlace = {}): View {
  const { t, store, parts } = frame;
  const { maps } = store.of.project;
  let { map: mapCode, layer } = opened;
  let layers: readonly LayerName[] = [];
  const again = () => peopleListView(frame, events, { map: mapCode, layer });
  const loadLayers = async () => {
    const asked = mapCode;
    layers = [];
    if (asked === undefined) return;
    const found = await store.layers(asked).catch((error: unknown) => {
      frame.tell(error);
      return [];
    });
    if (asked !== mapCode) return;
    layers = found;
    frame.render();
  };
  void loadLayers();
  const mapOf = () => maps.find(({ code }) => code === mapCode);

  const picker = () => {
    const option = (value: string, text: string, isChosen: boolean) =>
      h("option", { value, selected: isChosen }, text);
    const map = h(
      "select",
      { class: "field", id: "people-map", "data-key": "map" },
      option("", t("allMapsRights"), mapCode === undefined),
      ...maps.map(({ code, name }) => option(code, name || code, code === mapCode)),
    );
    map.addEventListener("change", () => {
      mapCode = map.value || undefined;
      layer = undefined;
      void loadLayers();
      frame.render();
    });
    // One that was asked for is chosen before the names of all are there.
    const shown = layers.length > 0 || layer === undefined ? layers : [{ code: layer, name: layer }];
    const ofMap = h(
      "select",
      { class: "field", "data-key": "layer", "aria-label": t("layerOfMap") },
      option("", t("allLayersRights"), layer === undefined),
      ...shown.map(({ code, name }) => option(code, name, code === layer)),
    );
    ofMap.addEventListener("change", () => {
      layer = ofMap.value || undefined;
      frame.render();
    });
    return h(
      "div",
      { class: "people-place" },
      h("label", { for: "people-map" }, t("rightsOn")),
      map,
      ...(mapCode === undefined ? [] : [ofMap]),
    );
  };

  const setRole = async (member: Member, role: Role) => {
    const isOwn = member.login === store.of.login;
    if (isOwn && !(await confirmed(parts, giveUpTexts(frame)))) return frame.render();
    const isDone = await frame.work(() => store.setRole(member, role));
    if (isDone && isOwn) events.giveUp();
  };
  const remove = async (member: Member) => {
    const name = member.login;
    const texts = {
      title: t("removePersonTitle", { name }),
      text: t("removePersonText"),
      action: t("remove"),
    };
    if (!(await confirmed(parts, texts))) return;
    const isDone = await frame.work(() => store.remove(member));
    if (isDone && name === store.of.login) events.giveUp();
  };

  const roleSelect = (member: Member) => {
    const isLast = member.role === "admin" && store.administrators.length === 1;
    const select = h(
      "select",
      {
        ...{
          class: "field people-select",
          "data-key": `role-${member.id}`,
          disabled: isLast || !store.mayChange,
        },
        "aria-label": t("roleOf", { name: member.login }),
        title: isLast && t("onlyAdmin"),
      },
      ...(["admin", "editor", "viewer"] as const).map((role) =>
        h("option", { value: role, selected: role === member.role }, t(roleTexts[role])),
      ),
    );
    select.addEventListener("change", () => void setRole(member, select.value as Role));
    return select;
  };
  const row = (member: Member, map: RightsMap | undefined, title: string) => {
    const name = nameOf(member, t);
    const { everybody } = store;
    const extent = (right: number) => {
      if (map === undefined) {
        const n = maps.filter((one) => extentOn(member, everybody, one, right) !== "none").length;
        return t("nOfAll", { n, all: maps.length });
      }
      return layer === undefined
        ? extentOn(member, everybody, map, right)
        : onLayer(rightsAt(member, everybody, map, layer), right);
    };
    const what = member.id === 0 ? t("whatEverybodySees") : t("whatSees", { name });
    const isLast = member.role === "admin" && store.administrators.length === 1;
    return h(
      "tr",
      { "data-login": member.login },
      h(
        "th",
        { scope: "row" },
        button(
          { class: "people-name", title: what, "data-key": `name-${member.id}` },
          () => frame.go(personView(frame, member.id, again)),
          name,
          member.id === 0 && h("small", {}, t("everybodyHint")),
          member.login === store.of.login && member.id !== 0 && h("small", {}, t("you")),
          typeof member.invited_until === "string" &&
            h(
              "small",
              { class: "people-invited" },
              t("invitedUntil", { date: dayOf(frame.parts.locale, member.invited_until) }),
            ),
        ),
      ),
      h("td", { "data-title": t("personRole") }, ...(member.role === null ? [] : [roleSelect(member)])),
      h("td", { "data-title": t("rights") }, rightsSelect(frame, member, { map, layer, title })),
      extentCell(t, extent(bits.read), t("sees")),
      extentCell(t, extent(bits.editObjects), t("edits")),
      h(
        "td",
        { class: "people-remove" },
        ...(member.id === 0 || isLast || !store.mayChange
          ? []
          : [
              button(
                {
                  class: "icon-button",
                  "aria-label": t("removePerson", { name }),
                  title: t("removePerson", { name }),
                  "data-key": `remove-${member.id}`,
                },
                () => void remove(member),
                icon("trash"),
              ),
            ]),
      ),
    );
  };

  return {
    tab: "people",
    render: () => {
      const map = mapOf();
      const named = layers.find(({ code }) => code === layer)?.name ?? layer;
      const title = named ?? (map && (map.name || map.code)) ?? t("allMapsRights");
      const add = button(
        { class: "button", "data-key": "add" },
        () => frame.go(addPersonView(frame, again)),
        icon("plus"),
        t("addPerson"),
      );
      const columns = ["person", "personRole", "rights", "sees", "edits"] as const;
      return [
        h("div", { class: "people-top" }, picker(), ...(store.mayChange ? [add] : [])),
        ...(map?.isPrivate ? [h("p", { class: "hint" }, t("mapIsPrivate"))] : []),
        ...(store.mayChange ? [] : [h("p", { class: "hint" }, t("peopleReadOnly"))]),
        h(
          "table",
          { class: "people-table" },
          h("caption", { class: "visually-hidden" }, `${t("rightsOn")}: ${title}`),
          h(
            "thead",
            {},
            h("tr", {}, ...columns.map((key) => h("th", { scope: "col" }, t(key))), h("td", {})),
          ),
          h("tbody", {}, ...store.members.map((member) => row(member, map, title))),
        ),
      ];
    },
  };
}

const giveUpTexts = ({ t }: Frame) => ({
  title: t("giveUpTitle"),
  text: t("giveUpText"),
  action: t("giveUp"),
});
