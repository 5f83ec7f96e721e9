import fc from "fast-check";
import t from "tap";
import { Failure } from "../../src/errors.js";
import { type Filter, parseFilter } from "../../src/features/filter-parser.js";
import { compileStyle } from "../../workers/render/compile.js";
import { answerOf, holds, textsOf } from "./fuzz.support.js";

/** The languages of the API: filters and CartoCSS. */

const column = fc.constantFrom("a", "name", "_x1");
const literal = fc.oneof(
  fc
    .string({ unit: "binary", maxLength: 8 })
    .filter((text) => !text.includes("\0") && !/\p{Surrogate}/u.test(text)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
);
const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({
      kind: fc.constant("compare" as const),
      column,
      comparator: fc.constantFrom("=", "<>", "<", "<=", ">", ">=" as const),
      literal,
    }),
    fc.record({ kind: fc.constant("null" as const), column }),
    fc.record({
      kind: fc.constant("in" as const),
      column,
      literals: fc.array(literal, { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ kind: fc.constant("not" as const), term: tie("filter") }),
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      terms: fc.array(tie("filter"), { minLength: 2, maxLength: 3 }),
    }),
  ),
}));

const textOf = (value: string | number | boolean): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

function written(filter: Filter): string {
  switch (filter.kind) {
    case "compare":
      return `${filter.column} ${filter.comparator} ${textOf(filter.literal)}`;
    case "null":
      return `"${filter.column}" IS NULL`;
    case "in":
      return `${filter.column} in (${filter.literals.map(textOf).join(" , ")})`;
    case "not":
      return `not (${written(filter.term)})`;
    case "and":
    case "or":
      return filter.terms.map((term) => `(${written(term)})`).join(` ${filter.kind} `);
    default:
      throw new Error(filter.kind);
  }
}

t.test("a filter that was written is read as it was meant", async (t) => {
  await holds(t, filter, (meant) => {
    const read = answerOf(() => parseFilter(written(meant)), Failure);
    if (!read) return;
    // Numbers are written as they are read; -0 is 0.
    const text = (value: Filter) => JSON.stringify(value);
    if (text(read) !== text(meant)) throw new Error(`${text(read)}\n${text(meant)}`);
  });
});

t.test("any text is a filter or refused", async (t) => {
  const tokens = [
    "a",
    " = ",
    "'x'",
    "''",
    "(",
    ")",
    " and ",
    " or ",
    "not ",
    " in ",
    " like ",
    " matches ",
    "1",
    "1e999",
    "<>",
    ",",
    " is ",
    "null",
    '"a"',
    "'(?=a)(a+)+'",
  ];
  await holds(t, textsOf(tokens, 60), (text) => void answerOf(() => parseFilter(text), Failure), {
    kept: ["(".repeat(200), `a in (${"1,".repeat(1_500)}1)`, "not ".repeat(500), "a matches '\\1'"],
  });
});

t.test("any text is a style or refused with a message", async (t) => {
  const tokens = [
    "#l",
    "{",
    "}",
    "[",
    "]",
    ":",
    ";",
    "::a",
    "/",
    "/*",
    "*/",
    "//",
    "\n",
    "@v",
    "zoom >= 5",
    "name = 'x'",
    "line-width",
    "polygon-fill",
    "marker-file",
    "text-name",
    "comp-op",
    "url(a.svg)",
    "url(icon:x)",
    "#fff",
    "rgba(1,2,3,.5)",
    "red",
    "2",
    "1e99",
    "-",
    "+",
    "*",
    "[name]",
    "'text'",
    '"',
    "darken(red, 10%)",
    "Map",
    "background-color",
    ".class",
    "a/",
    "!important",
  ];
  await holds(
    t,
    textsOf(tokens, 40),
    (layerStyle) => {
      const answer = compileStyle({ mapStyle: "", layerStyle, layerCode: "l", deadlineMs: 5_000 });
      if (!answer.ok && answer.error.length === 0) throw new Error("refused without a message");
    },
    { share: 0.5 },
  );
});

t.test("names that every object of JavaScript has are names of columns", (t) => {
  for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf", "__proto__"]) {
    const layerStyle = `#l { marker-width: 8; [${name} > 1] { marker-fill: #f00; } }`;
    const answer = compileStyle({ mapStyle: "", layerStyle, layerCode: "l", deadlineMs: 5_000 });
    t.ok(answer.ok, `${name}: ${answer.ok || answer.error}`);
  }
  t.end();
});
