import t from "tap";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import type { Assertions } from "../support/safe.js";
import { type ApiAnswer, startServer } from "../support/server.js";
import { collection, feature, point } from "../support/transfer.js";
import { troublesomeCodes } from "./column-names.support.js";

/**
 * Columns may be called like anything that SQL knows or that we call something there. Two layers have the same objects:
 * in one the columns have such codes, in the other p0, p1 and so on; whatever is asked, both answer the same.
 */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
const { api } = server;
await makeMap(server, "m");
const codes = await troublesomeCodes(server.sql);
const columns = codes.map((_, column) => column);

interface Side {
  readonly layer: string;
  readonly id: number;
  readonly code: (column: number) => string;
}
const sides: Side[] = [];
for (const [layer, code] of [
  ["troublesome", (column: number) => codes[column]!],
  ["plain", (column: number) => `p${column}`],
] as const) {
  const { id } = await makeStyledLayer(server, "m", layer, "#a { marker-width: 3; }");
  sides.push({ layer, id, code });
}

/** Objects are far enough from each other for symbols of some ten pixels in the tile. */
const places = 24;
const tile = { lon: 1, lat: 1, z: 5 };
const lonLat = (place: number) => [1 + 2 * (place % 5), 1 + 2 * Math.floor(place / 5)] as const;
const isNumber = (column: number) => column % 5 === 0;
const held = (column: number) => (isNumber(column) ? 7 : "yes");

/** Each column has a value in one object, and in another one at the same place. */
const objects = (code: Side["code"]) =>
  collection(
    ...Array.from({ length: 2 * places }, (_, at) => {
      const own = columns.filter((column) => column % places === at % places);
      const properties = Object.fromEntries(own.map((column) => [code(column), held(column)]));
      return feature(properties, point(...lonLat(at % places)));
    }),
  );
for (const { layer, code } of sides) {
  const answer = await api("POST", `m/layers/${layer}/import/`, { token, body: objects(code) });
  if (answer.status !== 200) throw new Error(answer.text);
}

const chunks = (size: number) =>
  Array.from({ length: Math.ceil(codes.length / size) }, (_, at) =>
    columns.slice(size * at, size * (at + 1)),
  );

const plainCodes = new Map(codes.map((code, column) => [code, `p${column}`]));

/** An answer's JSON with the plain codes for the others. */
function withPlainCodes(json: unknown): unknown {
  const rename = (value: unknown, within: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => rename(one, within));
    if (typeof value === "string" && /^(columns|code|columnCode|(search|name)_column)$/.test(within))
      return plainCodes.get(value) ?? value;
    if (typeof value !== "object" || value === null) return value;
    const named = within === "fields" || within === "properties";
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        named ? (plainCodes.get(key) ?? key) : key,
        rename(inner, named ? "" : key),
      ]),
    );
  };
  return rename(json, "");
}

/** Asserts that a request was carried out. */
const carriedOut = (t: Assertions, what: string, { status, text }: ApiAnswer) =>
  t.equal(status, 200, status === 200 ? what : `${what}: ${text.slice(0, 500)}`);

/** A layer's tile. */
async function drawn(t: Assertions, layerId: number): Promise<Buffer> {
  const answer = await fetch(tileUrl(server, "m", tile, `&base=0&layers=${layerId}`));
  t.equal(answer.status, 200, "a tile");
  return Buffer.from(await answer.arrayBuffer());
}

/** Asks both layers the same; gives what the plain one answers. */
async function both(t: Assertions, what: string, ask: (side: Side) => Promise<ApiAnswer>): Promise<any> {
  const [troublesome, plain] = await Promise.all(sides.map(ask));
  carriedOut(t, what, troublesome!);
  t.same(withPlainCodes(troublesome!.json), plain!.json, what);
  return plain!.json;
}

t.test("codes are taken from the sources and from PostgreSQL", async (t) => {
  t.ok(codes.length > 600 && codes.length <= 1_000);
  for (const code of ["kind", "keep", "px", "py", "q", "o", "b", "v", "x", "k", "points", "layer", "select"])
    t.ok(codes.includes(code), code);
});

t.test("tiles show what rules and labels make of each column", async (t) => {
  // As many columns as there may be rules for points to be thinned out; every second one has a label instead.
  for (const chunk of chunks(2 * places)) {
    const pictures = await Promise.all(
      sides.map(async ({ layer, id, code }) => {
        const rules = chunk.map((column) => {
          const symbol =
            column % 2 === 0
              ? "marker-width: 12; marker-fill: #f00; marker-allow-overlap: true;"
              : `text-name: "[${code(column)}]"; text-face-name: "DejaVu Sans Book"; text-size: 12; text-allow-overlap: true;`;
          const value = isNumber(column) ? held(column) : `'${held(column)}'`;
          return `#a::r${column}["${code(column)}"=${value}] { ${symbol} }`;
        });
        const css_style = rules.join("\n");
        const body = { parent_id: 0, css_style };
        const changed = await api("PATCH", `m/layers/${layer}/`, { token, body });
        carriedOut(t, "styled", changed);
        return drawn(t, id);
      }),
    );
    t.ok(pictures[0]!.equals(pictures[1]!), `from column ${chunk[0]}`);
    t.ok(
      (await picture(pictures[0]!)).painted > chunk.length * 20,
      `from column ${chunk[0]} on something is drawn`,
    );
  }
});

t.test("lists, filters and sorts by each column", async (t) => {
  const filter = (body: object) => (side: Side) =>
    api("POST", `m/layers/${side.layer}/filter/`, { token, body });
  for (const more of [
    {},
    { f: "fjson" },
    { format: "geojson" },
    { returnGeom: 1, returnBbox: 1, geomZoom: 3 },
  ])
    await both(t, `every column ${JSON.stringify(more)}`, filter({ fields: "*", ...more }));
  // As many as a sort may have.
  for (const chunk of chunks(100)) {
    await both(t, `sorted from column ${chunk[0]}`, ({ layer, code }) => {
      const sort = chunk.map((column) => `${code(column)},${column % 2 === 0 ? "d" : "a"}`).join("|");
      return api("POST", `m/layers/${layer}/filter/`, { token, body: { sort } });
    });
  }
  for (const chunk of chunks(8)) {
    await Promise.all(
      chunk.map(async (column) => {
        const found = await both(t, `filtered by ${codes[column]}`, ({ layer, code }) => {
          const query = new URLSearchParams({
            fields: code(column),
            fcode: code(column),
            fval: String(held(column)),
          });
          return api("GET", `m/layers/${layer}/objects/?${query}`);
        });
        t.equal(found.length, 2);
      }),
    );
  }
});

t.test("objects are made, changed, read and printed with each column", async (t) => {
  const fields = ({ code }: Side, value: (column: number) => unknown) =>
    Object.fromEntries(columns.map((column) => [code(column), value(column)]));
  const { id } = await both(t, "made", (side) =>
    api("POST", `m/layers/${side.layer}/objects/`, { token, body: { fields: fields(side, held) } }),
  );
  const path = (side: Side) => `m/layers/${side.layer}/objects/${id}/`;
  await both(t, "changed", (side) => {
    const body = { fields: fields(side, (column) => (isNumber(column) ? column : null)) };
    return api("PUT", path(side), { token, body });
  });
  await both(t, "read", (side) => api("GET", path(side)));
  for (const side of sides) t.match((await api("GET", `${path(side)}?f=pdf`)).text, /^%PDF/);
  for (const side of sides) t.equal((await api("DELETE", path(side), { token })).status, 200);
});

t.test("constraints hold for each column, and filters take them back", async (t) => {
  const lists = chunks(100);
  const constraints = ({ code }: Side) =>
    lists.flatMap((list) => [
      { type: "range", columns: list.filter(isNumber).map(code), definition: [7, 7] },
      { type: "enum", columns: list.filter((column) => !isNumber(column)).map(code), definition: ["yes"] },
    ]);
  const set = await Promise.all(
    sides.map((side) =>
      api("PUT", `m/layers/${side.layer}/constraints/`, { token, body: constraints(side) }),
    ),
  );
  for (const [at, answer] of set.entries()) {
    carriedOut(t, "set", answer);
    const { json } = answer;
    for (const { validated } of json) t.equal(validated, true);
    for (const [place, { raw_definition }] of json.entries()) {
      const { layer } = sides[at]!;
      const body = {
        code: `${layer}_offending_${place}`,
        type: "virtual",
        source: { layer, filter: raw_definition, columns: [] },
      };
      const made = await api("POST", "m/layers/", { token, body });
      carriedOut(t, "made", made);
      t.equal((await api("GET", `m/layers/${body.code}/count/?precise=true`)).json, 0);
      t.equal((await api("DELETE", `m/layers/${body.code}/`, { token })).status, 200);
    }
  }
  for (const { layer, code } of sides) {
    const fields = Object.fromEntries(columns.map((column) => [code(column), isNumber(column) ? 8 : "no"]));
    const refused = await api("POST", `m/layers/${layer}/objects/`, { token, body: { fields } });
    t.equal(refused.json.code, "constraint_violated");
    t.same(Object.keys(refused.json.data.columns).length, codes.length);
    t.equal((await api("PUT", `m/layers/${layer}/constraints/`, { token, body: [] })).status, 200);
  }
});

t.test("virtual and materialized layers have each column", async (t) => {
  for (const [at, chunk] of chunks(350).entries()) {
    for (const type of ["virtual", "material"]) {
      const codeOf = ({ layer }: Side) => `${layer}_${type}_${at}`;
      const pictures = [];
      for (const side of sides) {
        const terms = chunk.map((column) => `"${side.code(column)}" = ${isNumber(column) ? 7 : "'yes'"}`);
        const label = chunk.slice(0, 40).map((column) => `[${side.code(column)}]`);
        const body = {
          code: codeOf(side),
          type,
          css_style: `#a { marker-width: 9; ::t { text-name: "${label.join("+")}"; text-face-name: "DejaVu Sans Book"; } }`,
          source: { layer: side.layer, filter: terms.join(" or "), columns: chunk.map(side.code) },
        };
        const made = await api("POST", "m/layers/", { token, body });
        carriedOut(t, `${type} ${at}`, made);
        pictures.push(await drawn(t, made.json.id));
      }
      t.ok(pictures[0]!.equals(pictures[1]!), `tiles of a ${type} layer`);
      t.ok((await picture(pictures[0]!)).painted > 0);
      await both(t, `objects of a ${type} layer`, (side) =>
        api("GET", `m/layers/${codeOf(side)}/objects/?fields=*&returnGeom=1`),
      );
      for (const side of sides)
        carriedOut(t, "deleted", await api("DELETE", `m/layers/${codeOf(side)}/`, { token }));
    }
  }
});

t.test("searches find what each column holds", async (t) => {
  // A search takes so much time and no more: these are few enough for it to come to the last of them.
  for (const chunk of chunks(30)) {
    const texts = chunk.filter((column) => !isNumber(column));
    // Without settings all columns are searched.
    if (texts.length === 0) continue;
    const found = [];
    for (const { layer, code } of sides) {
      const body = texts.map((column) => ({ layer, search_column: code(column), name_column: code(column) }));
      const set = await api("PUT", "m/search/settings/", { token, body });
      carriedOut(t, "set", set);
      const { json } = await api("GET", "m/search/?phrase=yes&lang=en&limit=1000");
      for (const item of json) for (const key of ["layer", "layer_name", "layer_icon"]) delete item[key];
      found.push(json);
    }
    t.equal(found[1].length, 2 * new Set(texts.map((column) => column % places)).size);
    t.same(withPlainCodes(found[0]), found[1]);
  }
});

t.test("visualizations and legends are made of each column", async (t) => {
  const numbers = columns.filter(isNumber);
  const settings: ((side: Side) => object)[] = chunks(100).map((_, at) => ({ code }) => ({
    type: 5,
    classesSettings: {
      columns: numbers
        .slice(20 * at, 20 * (at + 1))
        .map((column) => ({ code: code(column), label: `column ${column}` })),
    },
  }));
  for (const name of ["x", "v", "n", "k", "at", "known", "e", "select", "order", "user"]) {
    const column = codes.indexOf(name);
    settings.push(({ code }) => ({
      type: 2,
      columnCode: code(column),
      classesSettings: { classes: [{ value: held(column) }] },
    }));
    if (isNumber(column)) settings.push(({ code }) => ({ type: 1, algorithm: 3, columnCode: code(column) }));
  }
  for (const visualSettings of settings) {
    await both(t, "legend", async (side) => {
      const body = { visualSettings: visualSettings(side) };
      const set = await api("PUT", `m/layers/${side.layer}/visualization/`, { token, body });
      carriedOut(t, "set", set);
      const legend = await api("GET", `m/layers/${side.layer}/legend/`);
      return { ...legend, json: { ...legend.json, columnCode: legend.json.column, column: undefined } };
    });
  }
});

t.test("what is exported is imported again", async (t) => {
  const exported = await api("GET", "m/layers/troublesome/export/?format=geojson");
  carriedOut(t, "exported", exported);
  carriedOut(t, "made", await api("POST", "m/layers/", { token, body: { code: "again" } }));
  // Once into a new layer, and once over the objects that it has then.
  for (const times of [1, 2]) {
    const imported = await api("POST", "m/layers/again/import/", { token, body: exported.json });
    carriedOut(t, `imported ${times}`, imported);
    const [first, again] = await Promise.all(
      ["troublesome", "again"].map((layer) => api("GET", `m/layers/${layer}/objects/?fields=*&returnGeom=1`)),
    );
    t.same(again!.json, first!.json);
  }
});

t.test("a rule may look at what is no attribute", async (t) => {
  for (const { layer, id } of sides) {
    for (const code of ["geom", "svc_id", "geom_3857_", "nothing"]) {
      const css_style = `#a["${code}"=1] { marker-width: 9; } #a::t { text-name: "[${code}]"; text-face-name: "DejaVu Sans Book"; }`;
      const body = { parent_id: 0, css_style };
      t.equal((await api("PATCH", `m/layers/${layer}/`, { token, body })).status, 200);
      await drawn(t, id);
    }
  }
});
