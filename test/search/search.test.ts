import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { search } from "../../src/search/search.js";
import { saveSettings } from "../../src/search/settings.js";
import { searchBench } from "./support.js";

const bench = await searchBench();
t.teardown(() => bench.stop());
const { sql, found } = bench;

const places = await bench.layer("places", [
  { code: "title", type: "string" },
  { code: "note", type: "text" },
  { code: "number", type: "number" },
]);
const { title, note, number } = places.physical as Record<"title" | "note" | "number", string>;
const add = async (...values: string[]) => {
  await sql.query(`truncate ${places.table}`);
  await sql.query(`insert into ${places.table} (${title}) select unnest($1::text[])`, [values]);
};

t.test("exact values come before those with all words, and these before those with some", async (t) => {
  await add("Red Lake Town", "Lake Red", "Red Lake", "Blue Lake", "Redwood", "Green");
  t.same(await found("red lake"), [
    [30, "Red Lake"],
    [20, "Lake Red"],
    [20, "Red Lake Town"],
    [10, "Blue Lake"],
    [10, "Redwood"],
  ]);
  t.same(await found("red lake", 2), [
    [30, "Red Lake"],
    [20, "Lake Red"],
  ]);
  t.same(await found("nothing of this"), []);
  t.same(await found("red", 0), []);
});

t.test("case, accents, ё and white space make no difference, in any language", async (t) => {
  const values = [
    "Café École",
    "Ёлкино",
    "Σοφός",
    "Straße",
    "Łódź",
    "İstanbul",
    "Київ",
    "Đà Nẵng",
    "Ｔｏｋｙｏ",
    "two  spaces",
    "ไทยแลนด์",
    "नमस्ते",
    "שלום",
    "القاهرة",
    "عَمَّان",
    "Avenue V",
    "\u202eRight\u200bangle\u00ad",
    "🏖️ Beach",
    "x\u030c",
  ];
  await add(...values);
  for (const [phrase, value] of [
    ["cafe ecole", "Café École"],
    ["CAFÉ ECOLE", "Café École"],
    ["елкино", "Ёлкино"],
    ["ЁЛКИНО", "Ёлкино"],
    ["ΣΟΦΟΣ", "Σοφός"],
    ["STRASSE", "Straße"],
    ["lodz", "Łódź"],
    ["istanbul", "İstanbul"],
    ["КИЇВ", "Київ"],
    ["da nang", "Đà Nẵng"],
    ["tokyo", "Ｔｏｋｙｏ"],
    [" two spaces ", "two  spaces"],
    ["ไทยแลนด์", "ไทยแลนด์"],
    ["नमस्ते", "नमस्ते"],
    ["שלום", "שלום"],
    ["القاهرة", "القاهرة"],
    ["عمان", "عَمَّان"],
    ["avenue v", "Avenue V"],
    ["rightangle", "\u202eRight\u200bangle\u00ad"],
    ["🏖 beach", "🏖️ Beach"],
    ["X", "x\u030c"],
    ["Café École".normalize("NFD"), "Café École"],
  ] as const) {
    t.same(await found(phrase), [[30, value]], phrase);
  }
});

t.test("a word of three letters is found anywhere, a shorter one where a word begins", async (t) => {
  await add("Neustadt", "Stadt", "St. Ives", "Ost", "(st)", "北京市朝阳区");
  t.same(await found("stadt"), [
    [30, "Stadt"],
    [20, "Neustadt"],
  ]);
  t.same(await found("st"), [
    [20, "(st)"],
    [20, "St. Ives"],
    [20, "Stadt"],
  ]);
  t.same(await found("朝阳"), [[20, "北京市朝阳区"]], "scripts without spaces");
  t.same(await found("朝"), [[20, "北京市朝阳区"]]);
  t.same(await found("阳朝"), []);
  await add("River", "Avenue", "ไทยแลนด์", "नमस्ते");
  t.same(await found("ive"), [[20, "River"]]);
  t.same(await found("แลนด์"), [[20, "ไทยแลนด์"]]);
  t.same(await found("मस्ते"), [[20, "नमस्ते"]]);
});

t.test("signs that people write around words, and between them, need not be in the text", async (t) => {
  await add("Paris", "Fort-de-France", "Hauptstraße 12", "New York", "Washington D.C.", "1,5", "15", "v1.5");
  const best = async (phrase: string) => (await found(phrase))[0];
  for (const phrase of ["Paris,", "(Paris)", "“Paris”", "«Paris»!", "Paris.", "Paris, Texas", "Paris,Texas"])
    t.same((await best(phrase))?.[1], "Paris", phrase);
  t.same(await best("Hauptstr. 12"), [20, "Hauptstraße 12"]);
  t.same(await best("12, Hauptstraße"), [20, "Hauptstraße 12"]);
  t.same(await best("New-York"), [20, "New York"]);
  for (const phrase of ["New - York", "New – York", "New--York", "-New York-"])
    t.same(await best(phrase), [20, "New York"], phrase);
  t.same(await best(`New${".".repeat(3_000)} York`), [20, "New York"]);
  t.same((await best("Nev-York"))?.[1], "New York", "a typing error beside a hyphen");
  t.same(await best("Fort de France"), [20, "Fort-de-France"]);
  t.same(await found("Washington D.C.,"), [[20, "Washington D.C."]]);
  t.same(await found("1,5"), [[30, "1,5"]], "a number keeps its comma");
});

t.test("everything in a phrase is literal", async (t) => {
  await add("100%", "1000", "a_b", "axb", "back\\slash", "a & b", "c | d", "!x", "'quoted'", "%", "Ω(1)*");
  t.same(await found("100%"), [[30, "100%"]]);
  t.same(await found("a_b"), [[30, "a_b"]]);
  t.same(await found("back\\slash"), [[30, "back\\slash"]]);
  t.same(await found("%"), [
    [30, "%"],
    [20, "100%"],
  ]);
  t.same(await found("_"), [[20, "a_b"]]);
  t.same(await found("\\"), [[20, "back\\slash"]]);
  t.same(await found("%_\\"), []);
  t.same(await found("&"), [[20, "a & b"]]);
  t.same(await found("| !"), [
    [10, "!x"],
    [10, "c | d"],
  ]);
  t.same(await found("foo:* & !bar <-> (baz"), [[10, "a & b"]]);
  t.same(await found("' or 1=1--"), []);
  t.same(await found("\t \n"), []);
});

t.test("an object is found once, by its best column, and named by the first", async (t) => {
  await sql.query(`truncate ${places.table} restart identity`);
  await sql.query(
    `insert into ${places.table} (${title}, ${note}) values
       ('Old mill', 'A mill'), (null, 'mill'), ('Bridge', 'near the mill'), ('Tower', null)`,
  );
  const { hits } = await bench.search("mill");
  t.match(hits, [
    { kind: "object", priority: 30, id: 2, name: null, value: "mill", entry: { search: { code: "note" } } },
    { kind: "object", priority: 20, id: 3, name: "Bridge", value: "near the mill" },
    {
      kind: "object",
      priority: 20,
      id: 1,
      name: "Old mill",
      value: "Old mill",
      entry: { search: { code: "title" } },
    },
  ]);
});

t.test("edits are found by the next search", async (t) => {
  await add("before");
  t.same(await found("before"), [[30, "before"]]);
  await sql.query(`update ${places.table} set ${title} = 'after'`);
  t.same(await found("before"), []);
  t.same(await found("after"), [[30, "after"]]);
  await sql.query(`delete from ${places.table}`);
  t.same(await found("after"), []);
});

t.test("long phrases and long values are bounded", async (t) => {
  const words = Array.from({ length: 20_000 }, (_, i) => `w${i}`).join(" ");
  await add(words, "w7", "x".repeat(100_000));
  t.same(
    (await found(words)).map(([priority]: any) => priority),
    [30, 10],
  );
  t.same(
    (await found("x".repeat(100_000))).map(([priority]: any) => priority),
    [30],
  );
  t.same(await found("%_\\".repeat(30_000)), []);
  t.same(await found("' & | ! ( ) <-> :* ".repeat(6_000)), []);
});

t.test("layers are found by their names, before objects of the same priority", async (t) => {
  await add("Rivers", "Old rivers");
  await sql.query("update node set localized_name = true, names = $2 where id = $1", [
    places.id,
    JSON.stringify({ en: "Rivers", ru: "Реки" }),
  ]);
  t.same(await found("rivers", 100, "en"), [
    [30, "Rivers"],
    [30, "Rivers"],
    [20, "Old rivers"],
  ]);
  const { hits } = await bench.search("rivers", { language: "en" });
  t.same(
    hits.map((hit) => hit.kind),
    ["layer", "object", "object"],
  );
  t.same(await found("реки", 100, "ru"), [[30, "Реки"]]);
  t.same(await found("реки", 100, "en"), []);
  t.same(await found("rivers", 100, "fr").then((list) => list.length), 3, "the main language stands in");
  await sql.query("update node set localized_name = false, names = '{}', name = '' where id = $1", [
    places.id,
  ]);
  t.same(await found("places"), [[30, "places"]], "a layer without a name is known by its code");
});

t.test("a localised value is found in every language and shown in the request's", async (t) => {
  const towns = await bench.layer("towns", [
    { code: "name", type: "string", localizedValue: true },
    { code: "rank", type: "number", localizedValue: true },
  ]);
  await sql.query(
    `insert into ${towns.table} (${towns.physical.name}, ${towns.physical.rank}) values ($1, $2)`,
    [JSON.stringify({ en: "Moscow", ru: "Москва", de: "Moskau" }), JSON.stringify({ en: 1 })],
  );
  t.same(await found("moscow"), [[30, "Москва"]]);
  t.same(await found("moscow", 3, "en"), [[30, "Moscow"]]);
  t.same(await found("moskau", 3, "fr"), [[30, "Moscow"]]);
  t.same(await found("mosc", 3, "fr"), [[20, "Moscow"]]);
  t.same(await found("МОСКВА город", 3, "en"), [[10, "Moscow"]]);
  await saveSettings(bench.db, bench.mapId, [
    { layerId: towns.id, searchColumnId: towns.ids.rank!, nameColumnId: towns.ids.name!, priority: null },
  ]);
  t.match((await bench.search("1", { language: "ru" })).hits, [{ priority: 30, name: "Москва", value: "1" }]);
  await sql.query(`drop table ${towns.table} cascade; delete from node where id = ${towns.id}`);
});

t.test("settings tell what is searched, in which order, until enough exact matches are found", async (t) => {
  await sql.query("update node set name = 'Places' where id = $1", [places.id]);
  const roads = await bench.layer("roads", [{ code: "label", type: "string" }]);
  await sql.query(`truncate ${places.table}`);
  await sql.query(
    `insert into ${places.table} (${title}, ${note}, ${number}) values ('Elm', 'first', 12), ('Elm', 'second', 7)`,
  );
  await sql.query(`insert into ${roads.table} (${roads.physical.label}) values ('Elm')`);
  const setting = (layer: typeof places, column: string, name: string, priority: number | null = null) => ({
    layerId: layer.id,
    searchColumnId: layer.ids[column]!,
    nameColumnId: layer.ids[name]!,
    priority,
  });
  const layersOf = async (phrase: string, limit: number) =>
    (await bench.search(phrase, { limit })).hits.map((hit) =>
      hit.kind === "object" ? hit.entry.layer.code : "",
    );
  await saveSettings(bench.db, bench.mapId, [
    setting(places, "title", "note"),
    setting(roads, "label", "label"),
  ]);
  t.same(await layersOf("elm", 2), ["places", "places"]);
  t.same((await layersOf("elm", 3)).sort(), ["places", "places", "roads"]);
  t.match((await bench.search("elm", { limit: 1 })).hits, [{ name: "first", value: "Elm" }]);
  t.same(await found("first"), [], "the column that names is not searched");
  await saveSettings(bench.db, bench.mapId, [
    setting(places, "title", "note"),
    setting(roads, "label", "label", 5),
  ]);
  t.same(await layersOf("elm", 1), ["roads"], "entries of higher priority first");
  await saveSettings(bench.db, bench.mapId, [setting(places, "number", "title")]);
  t.match((await bench.search("12")).hits, [{ priority: 30, name: "Elm", value: "12" }]);
  await sql.query("delete from layer_column where id = $1", [places.ids.number]);
  t.same((await found("elm")).length, 3, "settings whose column is gone are gone");
  await saveSettings(bench.db, bench.mapId, []);
  t.same((await found("elm")).length, 3);
});

t.test("a search that could not look everywhere says so", async (t) => {
  const { hits, isCut } = await bench.search("elm");
  t.same([hits.length, isCut], [3, false]);
  const late = {
    phrase: "elm",
    language: "en",
    limit: 3,
    caller: publicCaller,
    signal: new AbortController().signal,
  };
  const cut = await search(bench.db, await bench.map(), late, { statementMs: 20_000, startMs: -1 });
  t.same([cut.hits.length, cut.isCut], [0, true], "for want of time");
  const many = await bench.layer("many", [{ code: "text", type: "string" }]);
  const { text } = many.physical as Record<"text", string>;
  await sql.query(
    `insert into ${many.table} (${text}) select 'larch ' || g from generate_series(1, 30000) g`,
  );
  await sql.query(`analyze ${many.table}`);
  const part = await bench.search("larch 30000");
  t.equal(part.isCut, true, "for want of indexes");
});
