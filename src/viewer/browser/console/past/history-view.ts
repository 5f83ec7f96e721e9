import { button, h } from "../../dom.js";
import type { TextKey } from "../../texts.js";
import { comparisonView } from "./comparison.js";
import type { Frame, View } from "./frame.js";
import {
  History,
  type ObjectsChange,
  type ObjectsKind,
  type StructureChange,
  type StructureKind,
  together,
} from "./history.js";
import { memberText } from "./members.js";
import { Names } from "./names.js";
import { thingTexts } from "./things.js";

/** What was changed, by whom and when: it is compared with what was there before, and undone. */

/** Changes of a page: of objects many may be one. */
const pages = { structure: 100, objects: 1000 } as const;

type What = "map" | "objects" | "all";
const whatTexts: Readonly<Record<What, TextKey>> = {
  map: "historyOfMap",
  objects: "historyOfObjects",
  all: "historyOfAll",
};
const structureTexts: Readonly<Record<Exclude<StructureKind, "changed">, TextKey>> = {
  created: "wasCreated",
  deleted: "wasDeleted",
  restored: "wasRestored",
};
const objectTexts: Readonly<Record<Exclude<ObjectsKind, "replaced" | "emptied">, TextKey>> = {
  created: "objectsCreated",
  added: "objectsCreated",
  changed: "objectsChanged",
  deleted: "objectsDeleted",
};

interface Row {
  readonly change: StructureChange | ObjectsChange;
  readonly name: string;
  readonly place: string;
  readonly what: string;
  readonly undo: (() => Promise<unknown>) | undefined;
  readonly hasValues: boolean;
}

export function historyView(frame: Frame): View {
  const { t, of, edits } = frame;
  const { map } = of;
  const history = new History(edits, of.project.code);
  const names = new Names(edits, of);
  const choices: readonly What[] = [
    ...(map !== undefined && of.mayAdminister ? (["map"] as const) : []),
    ...(map !== undefined ? (["objects"] as const) : []),
    ...(of.mayAdminister ? (["all"] as const) : []),
  ];
  let [what] = choices;
  let rows: readonly Row[] | undefined;
  let load: () => Promise<void> = () => Promise.resolve();
  let hasMore = false;

  /** Begins with the newest ones. */
  const begin = async () => {
    const chosen = what;
    const structure: StructureChange[] = [];
    const objects: Parameters<typeof together>[0][number][] = [];
    load = async () => {
      const isObjects = chosen === "objects";
      const limit = isObjects ? pages.objects : pages.structure;
      const found = isObjects
        ? await history.objects(map!, limit, objects.at(-1)?.id)
        : await history.structure(chosen === "map" ? map : undefined, limit, structure.at(-1)?.id);
      if (chosen !== what) return;
      hasMore = found.length === limit;
      if (isObjects) objects.push(...(found as typeof objects));
      else structure.push(...(found as typeof structure));
      rows = isObjects ? together(objects).map(rowOfObjects) : structure.map(rowOfStructure);
    };
    rows = undefined;
    hasMore = false;
    await names.read();
    await load();
  };
  const read = () =>
    begin()
      .catch((error: unknown) => {
        rows = [];
        frame.tell(error);
      })
      .finally(() => frame.render());
  if (what) void read();

  const rowOfStructure = (change: StructureChange): Row => {
    const { kind, code, layer, map } = change;
    const of = kind === "column" && layer !== null ? [names.element(map, layer)] : [];
    const place = [names.map(map), ...of];
    const name = kind === "map" ? names.map(code) : kind === "column" ? code : names.element(map, code);
    const isChange = change.change === "changed";
    const members = () => new Set(change.members.map((name) => memberText(name, t)));
    return {
      ...{ change, name, hasValues: isChange },
      place: [t(thingTexts[kind]), ...(kind === "map" ? [] : place)].join(" · "),
      what: change.change === "changed" ? [...members()].join(", ") : t(structureTexts[change.change]),
      undo: isChange ? () => history.undoStructure(change) : undefined,
    };
  };
  const rowOfObjects = (change: ObjectsChange): Row => {
    const { kind, layer, count } = change;
    const isWhole = kind === "replaced" || kind === "emptied";
    const text = () => {
      if (isWhole) return t(kind === "replaced" ? "objectsReplaced" : "objectsEmptied");
      return count === null ? t("objectsTouched") : t(objectTexts[kind], { n: count });
    };
    return {
      ...{ change, name: names.element(map!, layer), place: t("layerOfMap"), what: text() },
      hasValues: change.object !== null,
      undo: isWhole ? undefined : () => history.undoObjects(map!, change),
    };
  };

  const undo = async (row: Row) => {
    const isDone = await frame.work(async () => {
      await row.undo!();
      await begin();
    }, "undone");
    // Also what went wrong may have been done.
    if (isDone || row.hasValues) frame.changed();
  };
  const picker = () => {
    const select = h(
      "select",
      { class: "field", id: "history-of", "data-key": "of" },
      ...choices.map((value) => h("option", { value, selected: value === what }, t(whatTexts[value]))),
    );
    select.addEventListener("change", () => {
      what = select.value as What;
      void read();
      frame.render();
    });
    return h("div", { class: "people-place" }, h("label", { for: "history-of" }, t("historyOf")), select);
  };
  const line = (row: Row) => {
    const { change, name } = row;
    const { id, at, by } = change;
    const compare = () => {
      const values = history.valuesOf(change, what === "objects" ? map : undefined);
      frame.go(comparisonView(frame, { title: `${name}: ${row.what}`, values, back: () => view }));
    };
    return h(
      "tr",
      { "data-entry": id },
      h("th", { scope: "row" }, name, h("small", {}, row.place)),
      h("td", { "data-title": t("what") }, row.what),
      h("td", { "data-title": t("when") }, frame.timeText(at), h("small", {}, by ?? t("notKnown"))),
      h(
        "td",
        { class: "past-actions" },
        row.hasValues &&
          button(
            {
              class: "button",
              "data-key": `compare-${id}`,
              "aria-label": `${t("compare")}: ${name}, ${row.what}`,
            },
            compare,
            t("compare"),
          ),
        row.undo &&
          button(
            { class: "button", "data-key": `undo-${id}`, "aria-label": `${t("undo")}: ${name}, ${row.what}` },
            () => void undo(row),
            t("undo"),
          ),
      ),
    );
  };

  const view: View = {
    tab: "history",
    render: () => {
      if (!what) return [h("p", { class: "hint" }, t("historyOpenMap"))];
      const top = h("div", { class: "people-top" }, picker(), h("p", { class: "hint" }, t("historyIntro")));
      if (!rows) return [top, h("p", { class: "hint" }, t("isChecking"))];
      if (rows.length === 0) return [top, h("p", {}, t("historyNone"))];
      return [
        top,
        h(
          "table",
          { class: "people-table past-table" },
          h("caption", { class: "visually-hidden" }, `${t("historyOf")}: ${t(whatTexts[what])}`),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ...(["thing", "what", "when"] as const).map((key) => h("th", { scope: "col" }, t(key))),
              h("td", {}),
            ),
          ),
          h("tbody", {}, ...rows.map(line)),
        ),
        ...(hasMore
          ? [
              button(
                { class: "button", "data-key": "more" },
                () => void frame.work(() => load(), null),
                t("showMore"),
              ),
            ]
          : []),
      ];
    },
  };
  return view;
}
