import t from "tap";
import { conditionOf, type FilterColumn } from "../../src/viewer/browser/tools/table-filter.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** What is typed above the columns of a table, as the server understands it. */

const server = await startServer();
t.teardown(() => server.stop());
const editor = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "");
for (const [code, type] of [
  ["name", "string"],
  ["note", "text"],
  ["size", "number"],
  ["built", "datetime"],
  ["open", "bool"],
  ["more", "json"],
])
  await server.api("POST", "m/layers/l/structure/", { token: editor, body: { code, type } });
const objects = [
  { name: "Old Oak", note: "it's [50%] hollow_", size: 5, built: "2024-05-31T23:30:00Z", open: true },
  { name: "Дуб", note: "a.b", size: 5.5, built: "2024-06-01T00:00:00Z", open: false },
  { name: "Lime", note: null, size: null, built: null, open: null, more: { a: 1 } },
  { name: "Élm\\", note: "^x-", size: -12345.25, built: "1999-12-31T00:00:00Z", open: true },
];
for (const fields of objects) {
  const answer = await server.api("POST", "m/layers/l/objects/", { token: editor, body: { fields } });
  if (answer.status !== 200) throw new Error(answer.text);
}
const columns = (await server.api("GET", "m/layers/l/structure/")).json as FilterColumn[];
const own = columns.filter(({ type }) => type !== "geom");

/** First letters of the names of the objects that are selected. */
async function selected(words: string, boxes: Record<string, string>): Promise<string> {
  const { filter, wrong } = conditionOf({ words, boxes: new Map(Object.entries(boxes)) }, own);
  if (wrong.size > 0) return `wrong ${[...wrong]}`;
  const answer = await server.api("POST", "m/layers/l/filter/", {
    body: { fields: "name", filter: filter ?? "" },
  });
  if (answer.status !== 200) return answer.text;
  return (answer.json as { fields: { name: string } }[]).map(({ fields }) => fields.name[0]).join("");
}

t.test("words are looked for in all texts, in either case", async (t) => {
  for (const [words, found] of [
    ["", "OДLÉ"],
    ["oak", "O"],
    ["OAK hollow", "O"],
    ["oak lime", ""],
    ["дУБ", "Д"],
    ["élm", "É"],
    ["it's", "O"],
    ["[50%]", "O"],
    ["hollow_", "O"],
    ["w%h", ""],
    ["a.b", "Д"],
    ["^x-", "É"],
    ["lm\\", "É"],
    ["x".repeat(1_000), ""],
  ] as const)
    t.equal(await selected(words, {}), found, words.slice(0, 40));
});

t.test("a box asks its column, as numbers, times, texts and choices are written", async (t) => {
  for (const [code, typed, found] of [
    ["name", "im", "L"],
    ["name", "=Lime", "L"],
    ["name", "=lime", ""],
    ["name", "!=Lime", "OДÉ"],
    ["note", "=", "L"],
    ["note", "!=", "OДÉ"],
    ["size", "5", "O"],
    ["size", "5,5", "Д"],
    ["size", "-12 345,25", "É"],
    ["size", "-12,345.25", "É"],
    ["size", "> 5", "Д"],
    ["size", ">=5", "OД"],
    ["size", "<5", "É"],
    ["size", "<= 5", "OÉ"],
    ["size", "!=5", "ДLÉ"],
    ["size", "5..6", "OД"],
    ["size", "5..<5.5", "O"],
    ["size", "..0", "É"],
    ["size", "5.2..", "Д"],
    ["size", "=", "L"],
    ["size", "!=", "OДÉ"],
    ["size", "five", "wrong size"],
    ["size", "..", "wrong size"],
    ["size", "1..2..3", "wrong size"],
    ["size", "1e999", "wrong size"],
    ["built", "2024", "OД"],
    ["built", "2024-05", "O"],
    ["built", "31.05.2024", "O"],
    ["built", "2024-05-31 23:30", "O"],
    ["built", ">2024-05", "Д"],
    ["built", "<=2024-05", "OÉ"],
    ["built", "<2024", "É"],
    ["built", "1999..2024-05-31", "OÉ"],
    ["built", "=", "L"],
    ["built", "2024-02-30", "wrong built"],
    ["built", "spring", "wrong built"],
    ["open", "true", "OÉ"],
    ["open", "false", "Д"],
    ["open", "empty", "L"],
    ["more", "filled", "L"],
    ["more", "empty", "OДÉ"],
    ["svc_id", "<=2", "OД"],
  ] as const)
    t.equal(await selected("", { [code]: typed }), found, `${code} ${typed}`);
  t.equal(await selected("o", { size: ">=5", open: "true" }), "O", "several together");
});
