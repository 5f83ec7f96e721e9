import t from "tap";
import { nearWords } from "../../src/search/near-words.js";
import { loadSettings, saveSettings } from "../../src/search/settings.js";
import { indexedBench } from "./support.js";

/** Of what matches, the best first; where nothing does, what is like it. */

const { bench, indexes } = await indexedBench(t);
const { sql } = bench;
const towns = await bench.layer("towns", [
  { code: "name", type: "string" },
  { code: "people", type: "number" },
]);
const { name, people } = towns.physical as Record<"name" | "people", string>;
const values: readonly (readonly [name: string, people: number | null])[] = [
  ["Aberlady", 1_200],
  ["Berlin", 3_700_000],
  ["Berlin, New Hampshire", 10_000],
  ["Berlingen", 900],
  ["East Berlin", 40_000],
  ["Kaberl", null],
  ["Kamberlough", 5_000_000],
  ["Kyparissía", 5_000],
  ["Old Berl", 20],
  ["Paris", 2_100_000],
  ["Paris, Texas", 24_000],
  ["10 de Abril", 3_000],
  ["100 Mile House", 2_000],
  ["Springfield", 60_000],
  ["Springfield", 170_000],
  ["Springfield", null],
  ["Санкт-Петербург", 5_600_000],
];
const fill = async (more: number) => {
  await sql.query(`truncate ${towns.table}`);
  await sql.query(
    `insert into ${towns.table} (${name}, ${people})
     select n, p from unnest($1::text[], $2::float8[]) u (n, p)
     union all select 'Aa' || g || ' place', g from generate_series(1, $3::int) g`,
    [values.map(([name]) => name), values.map(([, people]) => people), more],
  );
  await sql.query(`analyze ${towns.table}`);
  indexes.kick();
  await indexes.idle();
};
const names = async (phrase: string, limit = 10) =>
  (await bench.search(phrase, { limit })).hits.map((hit) => (hit.kind === "object" ? hit.value : hit.name));
const setting = (weight: number | null) => ({
  layerId: towns.id,
  searchColumnId: towns.ids.name!,
  nameColumnId: towns.ids.name!,
  priority: null,
  weightColumnId: weight,
});

for (const rows of [0, 6_000]) {
  const among = rows === 0 ? "in a small table" : `by the indexes of ${rows} values`;

  t.test(`whole words come before beginnings, and these before the rest, ${among}`, async (t) => {
    await fill(rows);
    t.same(await names("berl"), [
      "Old Berl",
      "Berlin",
      "Berlin, New Hampshire",
      "Berlingen",
      "East Berlin",
      "Aberlady",
      "Kaberl",
      "Kamberlough",
    ]);
    t.same(await names("berl", 3), ["Old Berl", "Berlin", "Berlin, New Hampshire"]);
    t.same(await names("berlin new"), ["Berlin, New Hampshire", "Berlin", "East Berlin", "Berlingen"]);
    t.same((await names("berl east", 2))[0], "East Berlin");
  });

  t.test(`of equal ones the heaviest comes first, if the settings name a column, ${among}`, async (t) => {
    await saveSettings(bench.db, bench.mapId, [setting(towns.ids.people!)]);
    t.match(await loadSettings(bench.db, bench.mapId), [{ weightColumnId: towns.ids.people }]);
    t.same(await names("berl"), [
      "Old Berl",
      "Berlin",
      "East Berlin",
      "Berlin, New Hampshire",
      "Berlingen",
      "Kamberlough",
      "Aberlady",
      "Kaberl",
    ]);
    t.same(await names("berl", 2), ["Old Berl", "Berlin"]);
    const weights = (await bench.search("springfield")).hits.map(
      (hit) => hit.kind === "object" && hit.weight,
    );
    t.same(weights, [170_000, 60_000, null]);
    t.same(
      (await bench.search("springfield", { limit: 1 })).hits.map(
        (hit) => hit.kind === "object" && hit.weight,
      ),
      [170_000],
    );
    if (rows > 0) t.same(await names("place", 2), [`Aa${rows} place`, `Aa${rows - 1} place`]);
    await saveSettings(bench.db, bench.mapId, []);
  });

  t.test(`a small typing error is forgiven where nothing else matches, ${among}`, async (t) => {
    for (const phrase of ["berlni", "berln", "berrlin", "bwrlin", "Berlín".replace("l", "")])
      t.ok((await names(phrase)).includes("Berlin"), phrase);
    t.same(await names("east berlni"), ["East Berlin", "Berlin", "Berlin, New Hampshire"].slice(0, 1));
    t.same(await names("питербург"), ["Санкт-Петербург"]);
    t.same(
      (await bench.search("berlni")).hits.every(({ priority }) => priority === 10),
      true,
    );
    t.same(await names("abc"), []);
    t.same(await names("nilreb"), [], "that is another word");
    t.notOk(
      (await names("berlin")).includes("Berlingen, almost"),
      "what matches is not mixed with what does not",
    );
  });
}

t.test(
  "a word with a typing error is worth more than what has it as a part of a word, or has other words",
  async (t) => {
    for (const rows of [0, 6_000]) {
      await fill(rows);
      t.same(await names("pariss"), ["Paris", "Paris, Texas", "Kyparissía"]);
      t.same(await names("pariss", 1), ["Paris"]);
      t.same((await names("pariss texas"))[0], "Paris, Texas");
      t.same(await names("yparissi"), ["Kyparissía"], "a part alone is found as before");
      const { hits } = await bench.search("pariss");
      t.ok(
        hits.every(({ priority }) => priority === 10),
        "of one priority, which comes first",
      );
    }
  },
);

t.test("a number alone does not make a value match a phrase that has words too", async (t) => {
  for (const rows of [0, 6_000]) {
    await fill(rows);
    t.same(await names("10 Downing Street"), []);
    t.same(await names("1, Berlin"), ["Berlin", "Berlin, New Hampshire", "East Berlin", "Berlingen"]);
    t.same(await names("100 mile"), ["100 Mile House"]);
    t.same(await names("10"), ["10 de Abril", "100 Mile House"], "a number alone is looked for");
  }
});

t.test("one name of a list is matched as a whole", async (t) => {
  await saveSettings(bench.db, bench.mapId, [setting(towns.ids.people!)]);
  for (const rows of [0, 6_000]) {
    await fill(rows);
    const listed = ["Rom; Roma; Řím; Roma capitale", "Wien;Vienne", "Vienne"];
    await sql.query(
      `insert into ${towns.table} (${name}, ${people}) select n, 100 * (4 - i) from unnest($1::text[]) with ordinality u (n, i)
       union all select 'Roma', 20`,
      [listed],
    );
    const priorities = async (phrase: string) =>
      (await bench.search(phrase, { limit: 10 })).hits.map(({ priority }) => priority);
    t.same(
      await names("roma"),
      ["Rom; Roma; Řím; Roma capitale", "Roma"],
      "the heavier of two that match as wholes",
    );
    t.same(await priorities("roma"), [30, 30]);
    t.same(await names("vienne"), ["Wien;Vienne", "Vienne"]);
    for (const phrase of ["rom", "Řím", "roma capitale", "wien"])
      t.equal((await priorities(phrase))[0], 30, phrase);
    for (const phrase of ["capitale", "rom roma"]) t.equal((await priorities(phrase))[0], 20, phrase);
  }
  await saveSettings(bench.db, bench.mapId, []);
});

t.test("another name of a heavier object is worth as much as the name of a lighter one", async (t) => {
  const cities = await bench.layer("cities", [
    { code: "title", type: "string" },
    { code: "others", type: "string" },
    { code: "people", type: "number" },
  ]);
  const column = cities.physical as Record<"title" | "others" | "people", string>;
  await saveSettings(
    bench.db,
    bench.mapId,
    (["title", "others"] as const).map((code) => ({
      ...{ layerId: cities.id, searchColumnId: cities.ids[code]!, nameColumnId: cities.ids.title! },
      ...{ priority: null, weightColumnId: cities.ids.people! },
    })),
  );
  for (const rows of [0, 6_000]) {
    await sql.query(`truncate ${cities.table}`);
    await sql.query(
      `insert into ${cities.table} (${column.title}, ${column.others}, ${column.people}) values
       ('Londres', null, 2000), ('London', 'Londres; Londra', 9000000), ('Wien', 'Vienne', 1900000), ('Vienne', null, 30000)`,
    );
    await sql.query(
      `insert into ${cities.table} (${column.title}, ${column.others})
       select 'Aa' || g, 'Bb' || g from generate_series(1, $1::int) g`,
      [rows],
    );
    await sql.query(`analyze ${cities.table}`);
    indexes.kick();
    await indexes.idle();
    const first = async (phrase: string, limit: number) =>
      (await bench.search(phrase, { limit })).hits.map((hit) => hit.name);
    for (const limit of [1, 2]) {
      t.same(await first("londres", limit), ["London", "Londres"].slice(0, limit), `${rows}`);
      t.same(await first("vienne", limit), ["Wien", "Vienne"].slice(0, limit), `${rows}`);
      t.equal((await first("london", limit))[0], "London");
    }
  }
  const own = (["title", "others"] as const).map((code) => ({
    ...{ layerId: cities.id, searchColumnId: cities.ids[code]!, nameColumnId: cities.ids.title! },
    ...{ priority: null, weightColumnId: cities.ids.people! },
  }));
  await sql.query(
    `insert into ${cities.table} (${column.title}, ${column.others}, ${column.people}) values ('Ville', 'Paris', 9e9)`,
  );
  await sql.query(`analyze ${cities.table}`);
  await fill(0);
  await saveSettings(bench.db, bench.mapId, [{ ...setting(towns.ids.people!), priority: 1 }, ...own]);
  const { hits } = await bench.search("paris", { limit: 1 });
  t.same(
    hits.map(({ name }) => name),
    ["Paris"],
    "what comes first is not passed by other names of what was not searched",
  );
  await saveSettings(bench.db, bench.mapId, []);
});

t.test("a column of weights that is gone weighs no more", async (t) => {
  await saveSettings(bench.db, bench.mapId, [setting(towns.ids.people!)]);
  await sql.query("delete from layer_column where id = $1", [towns.ids.people]);
  t.match(await loadSettings(bench.db, bench.mapId), [{ weightColumnId: null }]);
  t.same((await names("springfield")).length, 3);
});

t.test("words that are short, long or no words are looked for as they are", (t) => {
  const near = (...needles: string[]) => nearWords({ folded: "", needles });
  t.same(near("abc"), []);
  t.same(near("a".repeat(25)), []);
  t.same(near("2499"), []);
  t.same(near("c#c#c"), []);
  t.same(near("one", "more", "than", "four", "words"), []);
  t.ok(near("x".repeat(24))[0]!.variants.length < 1_500);
  t.same(near("abc", "berlin")[0], { variants: ["abc"], array: '{"abc"}', pattern: " abc " });
  const mixed = near("бвгабвгабвгаαβγδεζηabcde")[0]!.variants;
  t.ok(mixed.length < 1_700, "of one script, however many the word is written in");
  t.ok(near("bеrlin")[0]!.variants.includes("berlin"), "a letter of another script is an error");
  t.end();
});
