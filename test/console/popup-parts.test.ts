import t from "tap";
import {
  columnsOf,
  isSamePopup,
  popupIn,
  shownBy,
  titleColumns,
  withPopup,
} from "../../src/viewer/browser/console/popup/settings.js";
import type { PlacedColumn } from "../../src/viewer/browser/value-columns.js";

/** What a popup shows, as it is read from a layer's settings and written to them. */

const column = (id: number, code: string, type = "string", parent_id = 0): PlacedColumn => ({
  ...{ id, code, type, parent_id, sort: id },
});
const columns = [
  column(1, "svc_id", "number"),
  column(2, "geom", "geom"),
  column(3, "name"),
  column(4, "size", "title"),
  column(7, "photo", "file"),
  column(5, "trees", "number", 4),
  column(6, "opened", "datetime", 4),
];
const all = { title: undefined, columns: undefined };
const codes = (rows: ReturnType<typeof columnsOf>) =>
  rows.map(({ column: { code }, isShown }) => (isShown ? code : `(${code})`));

t.test("all columns with values are shown as the layer has them, unless some are named", async (t) => {
  t.same(codes(columnsOf(all, columns)), ["name", "trees", "opened", "photo"]);
  t.same(codes(columnsOf({ ...all, columns: [] }, columns)), ["(name)", "(trees)", "(opened)", "(photo)"]);
  const named = { ...all, columns: ["opened", "gone", "name", "opened", "svc_id", "size"] };
  t.same(codes(columnsOf(named, columns)), ["opened", "name", "(trees)", "(photo)"]);
});

t.test("what is shown is what is kept", async (t) => {
  for (const shown of [["opened", "name"], [], ["photo"], ["photo", "opened", "trees", "name"]])
    t.same(shownBy(columnsOf({ ...all, columns: shown }, columns), columns), shown);
  t.equal(shownBy(columnsOf(all, columns), columns), undefined, "all of them, also those that will be added");
});

t.test("titles are texts, numbers and times", async (t) => {
  t.same(
    titleColumns(columns).map(({ code }) => code),
    ["name", "trees", "opened"],
  );
});

t.test("settings of anything are read, and all else in them stays", async (t) => {
  const broken = [
    undefined,
    null,
    {},
    { viewer: null },
    { viewer: [] },
    { viewer: { title: 7, columns: "a" } },
  ];
  for (const settings of broken) t.same(popupIn(settings), all, JSON.stringify(settings));
  t.same(popupIn({ viewer: { title: "", columns: ["a", 7, null] } }), { ...all, columns: ["a"] });
  const popup = { title: "name", columns: ["trees"] };
  const settings = { own: [1], viewer: { legend: false, title: "x", columns: ["y"] } };
  const kept = withPopup(settings, popup);
  t.same(kept, { own: [1], viewer: { legend: false, ...popup } });
  t.ok(isSamePopup(popupIn(kept), popup));
  t.same(withPopup(kept, all), { own: [1], viewer: { legend: false } });
  t.same(withPopup({ viewer: popup }, all), {}, "nothing is left of it");
  t.same(withPopup(null, popup), { viewer: popup });
});
