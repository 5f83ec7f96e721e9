import t from "tap";
import type { NewColumn } from "../../src/catalog/columns.js";
import type { ObjectHit } from "../../src/search/found.js";
import { saveSettings } from "../../src/search/settings.js";
import { indexedBench } from "./support.js";

/** Addresses whose parts are columns of their own. */

const { bench, indexes } = await indexedBench(t);
const { sql } = bench;

const text = (code: string): NewColumn => ({ code, type: "string" });

async function filled(code: string, columns: readonly NewColumn[], rows: readonly (readonly unknown[])[]) {
  const layer = await bench.layer(code, columns);
  const physical = columns.map((column) => layer.physical[column.code]).join(",");
  const places = columns.map((_, n) => `$${n + 1}`).join(",");
  for (const row of rows)
    await sql.query(`insert into ${layer.table} (${physical}) values (${places})`, [...row]);
  return layer;
}

/** Names and details of what is found, without layers. */
const found = async (phrase: string, limit = 100) =>
  (await bench.search(phrase, { limit })).hits
    .filter((hit): hit is ObjectHit => hit.kind === "object")
    .map(({ priority, name, detail }) => [priority, name, detail]);

t.test("an address in several columns is found by its number and its town, and told by them", async (t) => {
  const houses = Array.from({ length: 30 }, (_, n) => n + 1);
  const { id } = await filled(
    "houses",
    [text("street"), { code: "housenumber", type: "number" }, text("postcode"), text("city")],
    [
      ...houses.map((house) => ["Hauptstraße", house, "50667", "Köln"]),
      ...houses.map((house) => ["Hauptstraße", house, "10827", "Berlin"]),
      ["Ringstraße", 5, "10827", "Berlin"],
      ["5. Straße", 1, "5020", "Berlin"],
    ],
  );
  t.same(await found("Hauptstraße 5", 3), [
    [20, "Hauptstraße", "5, 50667 Köln"],
    [20, "Hauptstraße", "5, 10827 Berlin"],
    [10, "Hauptstraße", "1, 50667 Köln"],
  ]);
  t.same((await found("Hauptstraße 5 Berlin", 1))[0], [20, "Hauptstraße", "5, 10827 Berlin"]);
  t.same((await found("Hauptstr. 7, 50667 Köln", 1))[0], [20, "Hauptstraße", "7, 50667 Köln"]);
  t.same((await found("Ringstraße Berlin", 1))[0], [20, "Ringstraße", "5, 10827 Berlin"]);
  t.same(await found("Parkstraße 5"), [], "a number alone is no match");
  t.notOk(
    (await found("Hauptstraße 5")).some(([, name]) => name === "5. Straße"),
    "nor a name that begins with it",
  );
  await sql.query("delete from node where id = $1", [id]);
});

t.test("a house is named by its street, or by what it has besides", async (t) => {
  const first = await filled(
    "plain",
    [text("addr_housenumber"), text("addr_postcode"), text("addr_street"), text("addr_city")],
    [["5a", "04109", "Hauptstraße", "Leipzig"]],
  );
  t.same(await found("hauptstr. 5A leipzig"), [[20, "Hauptstraße", "5a, 04109 Leipzig"]]);
  t.same(await found("04109"), [[30, "Hauptstraße", "5a, 04109 Leipzig"]]);
  await sql.query("delete from node where id = $1", [first.id]);
  const shops = await filled(
    "shops",
    [text("name"), text("strasse"), text("nr"), text("plz"), text("ort"), text("country")],
    [
      ["Café", "Hauptstraße", "5", "04109", "Leipzig", "Germany"],
      ["Café", "Hauptstraße", "6", null, "", "Germany"],
      ["Café", null, null, null, null, null],
    ],
  );
  t.same(await found("café"), [
    [30, "Café", "Hauptstraße 5, 04109 Leipzig, Germany"],
    [30, "Café", "Hauptstraße 6, Germany"],
    [30, "Café", null],
  ]);
  t.same((await found("café hauptstraße 6", 1))[0], [20, "Café", "Hauptstraße 6, Germany"]);
  await sql.query("delete from node where id = $1", [shops.id]);
  const books = await filled("books", [text("title"), { code: "number", type: "number" }], [["Volume", 5]]);
  t.same(await found("volume"), [[30, "Volume", null]], "a number without a street is none of a house");
  await sql.query("delete from node where id = $1", [books.id]);
});

t.test(
  "of very many of a street the house with the number is found, with indexes and settings, too",
  async (t) => {
    const columns = [text("street"), { code: "housenumber", type: "number" } as const, text("city")];
    const layer = await bench.layer("many", columns);
    const { street, housenumber, city } = layer.physical as Record<"street" | "housenumber" | "city", string>;
    await sql.query(
      `insert into ${layer.table} (${street}, ${housenumber}, ${city})
     select case when g % 3 = 0 then 'Allee ' || g else 'Hauptstraße' end, g % 40, 'Town ' || g from generate_series(1, 9000) g`,
    );
    await sql.query(`update ${layer.table} set ${city} = 'Berlin' where svc_id = 8885`);
    await sql.query(`analyze ${layer.table}`);
    const best = async () => [
      (await found("Hauptstraße 5 Berlin", 5))[0],
      ...new Set(
        (await found("Hauptstraße 6", 5)).map(
          ([priority, , detail]) => `${priority} ${String(detail).split(",")[0]}`,
        ),
      ),
    ];
    const expected = [[20, "Hauptstraße", "5, Berlin"], "20 6"];
    t.same(await best(), expected, "without indexes");
    indexes.kick();
    await indexes.idle();
    t.same(await best(), expected, "with indexes");
    const ids = { layerId: layer.id, searchColumnId: layer.ids.street!, nameColumnId: layer.ids.street! };
    await saveSettings(bench.db, bench.mapId, [
      { ...ids, priority: null, detailColumnId: layer.ids.housenumber! },
    ]);
    t.same((await found("Hauptstraße 6", 1))[0], [20, "Hauptstraße", "6"]);
  },
);
