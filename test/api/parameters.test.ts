import t from "tap";
import {
  fieldList,
  filterBox,
  flag,
  integer,
  objectId,
  parametersOf,
  sortKeys,
  srid,
  zoomLevel,
} from "../../src/api/parameters.js";
import { failure } from "../support/failure.js";

const given = (record: Record<string, unknown>) => parametersOf(record);
const bad = failure("bad_request");

t.test("whole numbers", async (t) => {
  for (const [text, value] of [
    ["0", 0],
    ["1000000000000", 1e12],
    ["1e12", 1e12],
    ["+5", 5],
    ["", undefined],
  ] as const) {
    t.equal(integer(given({ n: text }), "n"), value, text);
  }
  t.equal(integer(given({}), "n"), undefined);
  t.equal(integer(given({ n: 7 }), "n"), 7);
  for (const text of [
    "-1",
    "1.5",
    "x",
    "1e99",
    "99999999999999999999",
    "0x10",
    " 1",
    "NaN",
    "Infinity",
    "1;drop",
  ]) {
    t.throws(() => integer(given({ n: text }), "n"), bad, text);
  }
});

t.test("flags", async (t) => {
  for (const text of ["1", "true", true, 1]) t.equal(flag(given({ f: text }), "f"), true);
  for (const text of ["0", "false", false, 0, "", null]) t.equal(flag(given({ f: text }), "f"), false);
  for (const text of ["2", "yes", "' or 1=1", {}]) t.throws(() => flag(given({ f: text }), "f"), bad);
});

t.test("reference systems", async (t) => {
  t.equal(srid(given({}), "bboxSR"), 4326);
  t.equal(srid(given({ bboxSR: 3857 }), "bboxSR"), 3857);
  for (const text of ["0", "900913", "EPSG:3857", "3857.0", "-4326"]) {
    t.throws(() => srid(given({ bboxSR: text }), "bboxSR"), bad, text);
  }
});

t.test("boxes are Lat, Lon in degrees and y, x in metres", async (t) => {
  t.same(filterBox(given({ fbbox: "10,20,30,40" }), 4326), { south: 10, west: 20, north: 30, east: 40 });
  t.same(filterBox(given({ fbbox: [10, 170, 30, -170] }), 4326), {
    south: 10,
    west: 170,
    north: 30,
    east: -170,
  });
  const metres = filterBox(given({ fbbox: "0,0,5621521.486192066,1113194.9079327357" }), 3857);
  t.ok(metres && Math.abs(metres.north - 45) < 1e-9 && Math.abs(metres.east - 10) < 1e-9);
  t.ok(Number.isFinite(filterBox(given({ fbbox: "-1e300,0,1e300,1" }), 3857)?.north));
  t.equal(filterBox(given({ fbbox: "" }), 4326), undefined);
  for (const text of [
    "NaN,0,1,1",
    "1e400,0,1,1",
    "0,0,1e400,1",
    "1,2,3",
    "1,2,3,4,5",
    "1,2,3,",
    ",,,",
    "a,b,c,d",
    "0,0,1,1);select 1",
    "30,0,10,1",
    "0,1e9,1,1e9",
    "Infinity,0,1,1",
  ]) {
    t.throws(() => filterBox(given({ fbbox: text }), 4326), bad, text);
    t.throws(() => filterBox(given({ fbbox: text }), 3857), bad, `${text} in metres`);
  }
});

t.test("columns, sort keys, zooms and ids", async (t) => {
  t.equal(fieldList(given({})), undefined);
  t.equal(fieldList(given({ fields: "a,*" })), "all");
  t.same(fieldList(given({ fields: " a, b ,,c" })), ["a", "b", "c"]);
  t.same(fieldList(given({ fields: ["a", "b"] })), ["a", "b"]);
  t.same(sortKeys(given({ sort: "a|b,d|c,a|" })), [
    { code: "a", descending: false },
    { code: "b", descending: true },
    { code: "c", descending: false },
  ]);
  for (const sort of ["a,x", "a,desc", "a,d;drop", "name,d--"])
    t.throws(() => sortKeys(given({ sort })), bad, sort);
  t.equal(zoomLevel(given({ geomZoom: "0" })), 0);
  t.throws(() => zoomLevel(given({ geomZoom: "99" })), bad);
  t.equal(objectId("12"), 12);
  for (const text of ["1.5", "x", "", "1e3", "99999999999999999999", "1 or 1=1", "%00"]) {
    t.throws(() => objectId(text), bad, text);
  }
  t.throws(() => objectId(undefined), bad);
});

t.test("a body's own fields only are parameters", async (t) => {
  const parameters = parametersOf(JSON.parse('{"__proto__":{"limit":1},"a":null}'));
  t.equal(parameters.get("limit"), undefined);
  t.equal(parameters.get("constructor"), undefined);
  t.equal(parameters.has("a"), false);
});
