import { button, h, icon } from "../../dom.js";
import type { MapInfo } from "../../map-server.js";
import { dayOf } from "../invitation-address.js";
import { bits, exceptionsOn, extentOn, type Member, rightsAt } from "./effective.js";
import type { Frame, View } from "./frame.js";
import { makeNewLink } from "./invitation-link.js";
import type { LayerName } from "./people-store.js";
import { extentCell, nameOf, onLayer, type RightsOn, rightsSelect } from "./rights-cells.js";

/** What somebody sees and edits: each map, and the layers of those that are opened. */

export function personView(frame: Frame, id: number, back: () => View): View {
  const { t, store } = frame;
  const { maps } = store.of.project;
  const first = store.member(id);
  const layers = new Map<string, readonly LayerName[]>();
  /** Codes of maps whose layers are shown. */
  const opened = new Set<string>();
  const load = async (map: string) => {
    try {
      layers.set(map, await store.layers(map));
      frame.render();
    } catch (error) {
      frame.tell(error);
    }
  };
  const open = (map: string) => {
    opened.add(map);
    void load(map);
  };
  // Of these not all layers are as the map.
  if (first) for (const map of maps) if (exceptionsOn(map, first, store.everybody).length > 0) open(map.code);

  const row = (member: Member, on: RightsOn, head: readonly (Node | string)[], level: number) => {
    const { everybody } = store;
    const extent = (right: number) => {
      if (on.map === undefined) return undefined;
      return on.layer === undefined
        ? extentOn(member, everybody, on.map, right)
        : onLayer(rightsAt(member, everybody, on.map, on.layer), right);
    };
    const cell = (right: number, title: string) => {
      const found = extent(right);
      return found === undefined ? h("td", {}) : extentCell(t, found, title);
    };
    return h(
      "tr",
      { "data-level": level, "data-place": `${on.map?.code ?? ""}/${on.layer ?? ""}` },
      h("th", { scope: "row" }, h("div", { class: "people-head" }, ...head)),
      h("td", { "data-title": t("rights") }, rightsSelect(frame, member, on)),
      cell(bits.read, t("sees")),
      cell(bits.editObjects, t("edits")),
    );
  };
  const rowsOf = (member: Member, map: MapInfo) => {
    const title = map.name || map.code;
    const isOpen = opened.has(map.code);
    const expander = button(
      {
        ...{
          class: "icon-button small expander",
          "aria-expanded": String(isOpen),
          "data-key": `open-${map.code}`,
        },
        "aria-label": t("layersOfMap", { name: title }),
        title: t("layersOfMap", { name: title }),
      },
      () => {
        if (isOpen) opened.delete(map.code);
        else open(map.code);
        frame.render();
      },
      icon("chevron"),
    );
    const head = [
      expander,
      h("span", {}, title),
      ...(map.isPrivate ? [h("span", { class: "pill" }, t("privateMap"))] : []),
    ];
    const shown = isOpen ? layersOf(member, map) : [];
    return [
      row(member, { map, title }, head, 1),
      ...shown.map(({ code, name }) =>
        row(member, { map, layer: code, title: `${title}, ${name}` }, [name], 2),
      ),
    ];
  };
  /** Before their names are there, those that differ from the map. */
  const layersOf = (member: Member, map: MapInfo): readonly LayerName[] =>
    layers.get(map.code) ?? exceptionsOn(map, member, store.everybody).map((code) => ({ code, name: code }));

  const linkRow = (member: Member) =>
    h(
      "div",
      { class: "people-top" },
      h(
        "p",
        { class: "hint" },
        member.invited_until
          ? `${member.login}: ${t("invitedUntil", { date: dayOf(frame.parts.locale, member.invited_until) })}`
          : t("newLinkHint", { name: member.login }),
      ),
      button(
        { class: "button", "data-key": "new-link" },
        () => void makeNewLink(frame, member, () => personView(frame, id, back)),
        icon("lock"),
        t("newLink"),
      ),
    );

  const name = first ? nameOf(first, t) : "";
  return {
    tab: "people",
    title: id === 0 ? t("whatEverybodySees") : t("whatSees", { name }),
    back,
    render: () => {
      const member = store.member(id);
      if (!member) return [h("p", { class: "hint" }, t("problemGone"))];
      const all = { title: t("allMapsRights") };
      return [
        ...(id !== 0 && store.mayChange ? [linkRow(member)] : []),
        h(
          "table",
          { class: "people-table person-table" },
          h("caption", { class: "visually-hidden" }, t("rights")),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, t("maps")),
              ...(["rights", "sees", "edits"] as const).map((key) => h("th", { scope: "col" }, t(key))),
            ),
          ),
          h(
            "tbody",
            {},
            row(member, all, [h("strong", {}, t("allMapsRights"))], 0),
            ...maps.flatMap((map) => rowsOf(member, map)),
          ),
        ),
      ];
    },
  };
}
