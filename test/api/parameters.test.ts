import t from "tap";
import type { z } from "zod";
import {
  choice,
  firstOf,
  flag,
  integer,
  objectId,
  parametersOf,
  srid,
  text,
} from "../../src/api/request/schema/parameters.js";
import { reader } from "../../src/api/request/schema/read.js";
import {
  boxParameter,
  fieldsParameter,
  filterBox,
  geometryParameters,
  sortParameter,
} from "../../src/api/resources/object-parameters.js";
import { failure } from "../support/failure.js";

/** What parameters become, and which are refused. */

const bad = failure("bad_request");

/** The value of a parameter `p`, given as in a query, a form or a JSON body; none when nothing is given. */
const read = <Out>(parameter: z.ZodType<Out>, ...given: unknown[]): Out =>
  reader({ p: parameter })(parametersOf(given.length > 0 ? { p: given[0] } : {})).p as Out;

t.test("whole numbers", async (t) => {
  const n = integer("A number.").optional();
  for (const [given, value] of [
    ["0", 0],
    ["1000000000000", 1e12],
    ["1e12", 1e12],
    ["+5", 5],
    ["", undefined],
  ] as const) {
    t.equal(read(n, given), value, given);
  }
  t.equal(read(n), undefined);
  t.equal(read(n, 7), 7);
  for (const given of [
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
    t.throws(() => read(n, given), bad, given);
  }
  const bounded = integer("A number.", { least: 8, most: 512 });
  t.same(
    ["8", "512"].map((given) => read(bounded, given)),
    [8, 512],
  );
  for (const given of ["7", "513", "-8"]) t.throws(() => read(bounded, given), bad, given);
});

t.test("flags", async (t) => {
  const f = flag("A flag.");
  t.equal(read(f), false);
  for (const given of ["1", "true", true, 1]) t.equal(read(f, given), true);
  for (const given of ["0", "false", false, 0, "", null]) t.equal(read(f, given), false);
  for (const given of ["2", "yes", "' or 1=1", {}]) t.throws(() => read(f, given), bad);
});

t.test("words, needed ones, and what counts when nothing is given", async (t) => {
  const word = choice("A word.", ["a", "b"]);
  t.same([read(word), read(word, ""), read(word, "b")], ["a", "a", "b"]);
  for (const given of ["c", "A", "a,b"]) t.throws(() => read(word, given), bad, given);
  t.equal(read(integer("A number.").default(3)), 3);
  t.equal(read(integer("A number.").default(3), "0"), 0);
  const missing = { code: "required_parameters", data: { required: ["p"] } };
  t.throws(() => read(text("A text.")), missing);
  t.throws(() => read(text("A text."), ""), missing);
  const two = { a: text("A text."), b: text("A text.").optional(), c: text("A text.") };
  t.throws(() => reader(two)(parametersOf({ b: "x" })), {
    code: "required_parameters",
    data: { required: ["a", "c"] },
  });
});

t.test("reference systems", async (t) => {
  const system = srid("A system.");
  t.equal(read(system), 4326);
  t.equal(read(system, 3857), 3857);
  for (const given of ["0", "900913", "EPSG:3857", "3857.0", "-4326"]) {
    t.throws(() => read(system, given), bad, given);
  }
});

t.test("boxes are Lat, Lon in degrees and y, x in metres", async (t) => {
  const box = (given: unknown, system: 4326 | 3857) => filterBox(read(boxParameter, given), system);
  t.same(box("10,20,30,40", 4326), { south: 10, west: 20, north: 30, east: 40 });
  t.same(box([10, 170, 30, -170], 4326), { south: 10, west: 170, north: 30, east: -170 });
  const metres = box("0,0,5621521.486192066,1113194.9079327357", 3857);
  t.ok(metres && Math.abs(metres.north - 45) < 1e-9 && Math.abs(metres.east - 10) < 1e-9);
  t.ok(Number.isFinite(box("-1e300,0,1e300,1", 3857)?.north));
  t.equal(box("", 4326), undefined);
  for (const given of [
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
    t.throws(() => box(given, 4326), bad, given);
    t.throws(() => box(given, 3857), bad, `${given} in metres`);
  }
});

t.test("columns, sort keys, zooms and ids", async (t) => {
  t.equal(read(fieldsParameter), undefined);
  t.equal(read(fieldsParameter, "a,*"), "all");
  t.same(read(fieldsParameter, " a, b ,,c"), ["a", "b", "c"]);
  t.same(read(fieldsParameter, ["a", "b"]), ["a", "b"]);
  t.same(read(sortParameter, "a|b,d|c,a|"), [
    { code: "a", descending: false },
    { code: "b", descending: true },
    { code: "c", descending: false },
  ]);
  for (const sort of ["a,x", "a,desc", "a,d;drop", "name,d--"])
    t.throws(() => read(sortParameter, sort), bad, sort);
  t.equal(read(geometryParameters.geomZoom, "0"), 0);
  t.throws(() => read(geometryParameters.geomZoom, "99"), bad);
  t.equal(objectId("12"), 12);
  for (const segment of ["1.5", "x", "", "1e3", "99999999999999999999", "1 or 1=1", "%00"]) {
    t.throws(() => objectId(segment), bad, segment);
  }
  t.throws(() => objectId(undefined), bad);
});

t.test("a body's own fields only are parameters", async (t) => {
  const parameters = parametersOf(JSON.parse('{"__proto__":{"limit":1},"a":null}'));
  t.equal(parameters.get("limit"), undefined);
  t.equal(parameters.get("constructor"), undefined);
  t.equal(parameters.has("a"), false);
});

t.test("a parameter of the first place counts before that of the second, unless it is empty", async (t) => {
  const both = firstOf(parametersOf({ a: "1", b: "", c: "" }), parametersOf({ a: "2", b: "3", d: "4" }));
  t.same(
    ["a", "b", "c", "d", "e"].map((name) => both.get(name)),
    ["1", "3", "", "4", undefined],
  );
});
