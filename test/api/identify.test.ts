import t from "tap";
import { setGrant } from "../../src/access/grants.js";
import type { LayerNode } from "../../src/catalog/state.js";
import { drawnSql } from "../../src/identify/drawn.js";
import { nearStatement, placeOf } from "../../src/identify/near.js";
import type { CompiledStyle, Rule } from "../../src/style/model.js";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** The objects that a map shows at a place. */

const server = await startServer({ nodes: 1, config: { statementTimeoutMs: 3_000 } });
t.teardown(() => server.stop());
const { api } = server;
const sql = async (text: string, values: unknown[] = []) => (await server.sql.query(text, values)).rows;
const [admin, editor] = [await server.token("admin"), await server.token("editor")];

const point = (lon: number, lat: number) => ({ type: "Point", coordinates: [lon, lat] });
const line = (...coordinates: number[][]) => ({ type: "LineString", coordinates });

async function layer(map: string, code: string, css = "", columns: readonly object[] = []) {
  const made = await makeStyledLayer(server, map, code, css);
  for (const body of columns) {
    const { status, text } = await api("POST", `${map}/layers/${code}/structure/`, { token: editor, body });
    if (status !== 200) throw new Error(text);
  }
  return made.id;
}
const named = [{ code: "name", type: "string" }];

/** Adds objects with these names; without names, objects of a layer that has no columns. */
async function add(map: string, code: string, objects: readonly (readonly [string | null, object])[]) {
  const body = objects.map(([name, geom]) => ({ op: "create", fields: name === null ? {} : { name }, geom }));
  const { status, text, json } = await api("POST", `${map}/layers/${code}/objects/bulk/`, {
    token: editor,
    body,
  });
  if (status !== 200) throw new Error(text);
  return json.map(({ id }: { id: number }) => id) as number[];
}

async function found(map: string, query: string, token?: string): Promise<any[]> {
  const answer = await api("GET", `${map}/identify/?fields=*&${query}`, token ? { token } : {});
  if (answer.status !== 200) throw new Error(`${query}: ${answer.status} ${answer.text}`);
  return answer.json;
}
const names = async (map: string, query: string, token?: string) =>
  (await found(map, query, token)).map(({ layer, fields }) => `${layer}:${fields.name}`);

t.test("objects come from the topmost layer first, and in a layer from the nearest", async (t) => {
  await makeMap(server, "m");
  const top = await layer("m", "points", "#a { marker-width: 6; }", named);
  await layer("m", "lines", "#a { line-width: 1; }", named);
  await layer("m", "areas", "#a { polygon-fill: red; }", named);
  await add("m", "points", [
    ["far", point(10.004, 50)],
    ["near", point(10.001, 50)],
    ["elsewhere", point(11, 50)],
  ]);
  await add("m", "lines", [["road", line([9, 50], [11, 50])]]);
  await add("m", "areas", [
    ["country", square(9, 49, 2)],
    ["park", square(9.9, 49.9, 0.2)],
    ["neighbour", square(9.5, 50.0002, 0.5)],
  ]);
  // A pixel at zoom 14 has 0.000086 degrees, at zoom 11 eight times as many.
  t.same(await names("m", "point=50,10&zoom=11"), [
    "points:near",
    "points:far",
    "lines:road",
    "areas:park",
    "areas:country",
  ]);
  t.same(await names("m", "point=50,10&zoom=14&tolerance=20"), [
    "points:near",
    "lines:road",
    "areas:park",
    "areas:country",
  ]);
  t.same(await names("m", "point=50,10&zoom=14&tolerance=0"), ["lines:road", "areas:park", "areas:country"]);
  // Beside all areas that are there, their borders count.
  t.same(await names("m", "point=51.0001,10.5&zoom=11"), ["areas:country"]);
  t.same(await found("m", "point=0,0&zoom=11"), []);
  const [item] = await found("m", "point=50,10&zoom=11&limit=1&returnGeom=1&returnBbox=1");
  t.same(item, {
    id: item.id,
    fields: { svc_id: item.id, name: "near" },
    geom: point(10.001, 50),
    bbox: { sw: [50, 10.001], ne: [50, 10.001] },
    layer: "points",
    layer_id: top,
  });
  const bare = await api("GET", "m/identify/?point=50,10&zoom=11&limit=1");
  t.same(Object.keys(bare.json[0]), ["id", "layer", "layer_id"]);
  // Each layer has those of the fields that it has.
  const some = await api("GET", "m/identify/?point=50,10&zoom=11&limit=1&fields=name,nothing");
  t.same(some.json[0].fields, { name: "near" });
});

t.test("geometries are no finer than the zoom shows, unless a zoom for them is given", async (t) => {
  const ring = Array.from({ length: 2_001 }, (_, n) => {
    const angle = (n % 2_000) * (Math.PI / 1_000);
    return [40 + Math.cos(angle), 40 + Math.sin(angle)];
  });
  await makeMap(server, "round");
  await makeStyledLayer(server, "round", "discs", "#a { polygon-fill: #00ff00; }");
  await add("round", "discs", [[null, { type: "Polygon", coordinates: [ring] }]]);
  const vertices = async (query: string) =>
    (await found("round", `point=40,40&returnGeom=1${query}`))[0].geom.coordinates[0].length;
  const seen = await vertices("&zoom=4");
  t.ok(seen > 8 && seen < 200, `${seen} vertices`);
  t.ok((await vertices("&zoom=4&geomZoom=20")) > 1_900);
});

t.test("the limit counts for each layer, and the layers may be chosen", async (t) => {
  const [points, , areas] = (await api("GET", "m/layers/?type=full")).json.map(({ id }: any) => id);
  t.same(await names("m", "point=50,10&zoom=11&limit=1"), ["points:near", "lines:road", "areas:park"]);
  t.same(await names("m", `point=50,10&zoom=11&limit=1&layers=${areas},${points},99999`), [
    "points:near",
    "areas:park",
  ]);
  t.same(await found("m", "point=50,10&zoom=11&layers="), []);
  t.same(await found("m", "point=50,10&zoom=11&limit=0"), []);
});

t.test("what the style does not draw at the zoom is not found", async (t) => {
  await makeMap(server, "s", "#base[zoom>=12] { marker-width: 5; }");
  const size = [...named, { code: "size", type: "number" }];
  await layer(
    "s",
    "towns",
    "#a[size>100][zoom>=4] { marker-width: 5; } #a[zoom>=8] { marker-width: 5; }",
    size,
  );
  await layer("s", "base", "#a {}", named);
  await layer("s", "matching", "#a[zoom>=3][size='x'] { marker-width: 5; }", size);
  await add("s", "towns", [
    ["small", point(20, 20)],
    ["large", point(20, 20)],
    ["unknown", point(20, 20)],
  ]);
  await sql(
    `update layers.l${(await api("GET", "s/layers/towns/")).json.id} set c${
      (await api("GET", "s/layers/towns/structure/")).json.find(({ code }: any) => code === "size").id
    } = case svc_id when 1 then 5 when 2 then 500 end`,
  );
  await add("s", "base", [["base", point(20, 20)]]);
  await add("s", "matching", [["match", point(20, 20)]]);
  t.same(await names("s", "point=20,20&zoom=2"), []);
  t.same(await names("s", "point=20,20&zoom=3"), ["matching:match"]);
  t.same(await names("s", "point=20,20&zoom=4"), ["towns:large", "matching:match"]);
  // Of objects at the same place the last is drawn over the others.
  t.same((await names("s", "point=20,20&zoom=8")).slice(0, 3), [
    "towns:unknown",
    "towns:large",
    "towns:small",
  ]);
  t.ok((await names("s", "point=20,20&zoom=12")).includes("base:base"));
});

t.test(
  "rules that draw nothing take objects from those after them, in a text as long as the rules",
  async (t) => {
    await makeMap(server, "h");
    const id = await layer("h", "l", "#a { marker-width: 5; }", [...named, { code: "size", type: "number" }]);
    const { catalog } = server.nodes[0]!.services;
    const node = (await catalog.map("p", "h")).layers.get("l")!;
    const rule = (filter: string | undefined, draws: boolean): Rule => ({
      ...(filter !== undefined && { filter }),
      symbolizers: draws ? [{ type: "MarkersSymbolizer", attributes: {} }] : [],
    });
    const conditionOf = (rules: readonly Rule[], mode = "first") => {
      const styles = [{ name: "", attributes: { "filter-mode": mode }, rules }];
      const style: CompiledStyle = { styles, fields: ["size"], bufferPixels: 1 };
      return drawnSql(node, style, { zoom: 5, languages: { own: "en", main: "en" } });
    };
    const body = [1, 2, 3, 4].map((size) => ({ op: "create", fields: { size }, geom: point(1, 1) }));
    const made = await api("POST", "h/layers/l/objects/bulk/", { token: editor, body });
    t.equal(made.status, 200, made.text);
    const column = node.columns.find(({ code }) => code === "size")!.physical;
    const sizes = async (condition: string | undefined) =>
      condition === undefined
        ? []
        : (await sql(`select o$.${column} as size from layers.l${id} o$ where ${condition} order by 1`)).map(
            ({ size }) => size,
          );
    const [under2, under3, under4] = [2, 3, 4].map((size) => `[size] < ${size}`);
    t.same(await sizes(conditionOf([rule(under2, false), rule(under4, true)])), [2, 3]);
    t.same(
      await sizes(conditionOf([rule(under2, true), rule(under3, false), rule(undefined, true)])),
      [1, 3, 4],
    );
    t.same(await sizes(conditionOf([rule(under2, false), rule(under4, true)], "all")), [1, 2, 3]);
    t.same(await sizes(conditionOf([rule(undefined, false), rule(under4, true)])), []);
    t.equal(conditionOf([rule(under2, false)]), undefined);
    t.equal(conditionOf([rule(under2, true), rule(undefined, true)]), "true");
    // Written out for each rule after it, what rules take grew with the square of their number.
    const many = (count: number) =>
      Array.from({ length: count }, (_, n) => rule(`[size] = ${n}`, n % 2 === 1));
    t.ok(conditionOf(many(1_000))!.length < 64 * 1024);
    t.same(await sizes(conditionOf(many(1_000))), [1, 3]);
    t.equal(conditionOf(many(20_000)), "true", "what is too long is not worked out");
  },
);

t.test("a layer that cannot be read is left out, and no other one", async (t) => {
  await makeMap(server, "bad");
  for (const code of ["first", "broken", "last"]) {
    await layer("bad", code, "#a { marker-width: 5; }", named);
    await add("bad", code, [[code, point(1, 1)]]);
  }
  const all = await names("bad", "point=1,1&zoom=5");
  t.equal(all.length, 3);
  const { id } = (await api("GET", "bad/layers/broken/")).json;
  await sql(`alter table layers.l${id} rename to away${id}`);
  t.same(
    await names("bad", "point=1,1&zoom=5"),
    all.filter((one) => one !== "broken:broken"),
  );
  await sql(`alter table layers.away${id} rename to l${id}`);
  t.same(await names("bad", "point=1,1&zoom=5"), all);
});

t.test("a layer that takes too long is left out, named, and not tried for a while", async (t) => {
  const map = await makeMap(server, "late");
  for (const code of ["first", "base"]) {
    await layer("late", code, "#a { marker-width: 5; }", named);
    await add("late", code, [[code, point(1, 1)]]);
  }
  const body = { code: "view", type: "virtual", source: { layer: "base" } };
  t.equal((await api("POST", "late/layers/", { token: editor, body })).status, 200);
  const { id } = (await api("GET", "late/layers/view/")).json;
  const [{ definition }] = (await sql(
    `select rtrim(pg_get_viewdef('layers.l${id}'::regclass), '; \n') as definition`,
  )) as [{ definition: string }];
  await sql(`create sequence tries; grant all on sequence tries to public;
    create function slowly() returns boolean language plpgsql volatile as
      $$ begin perform nextval('mapwright.tries'), pg_sleep(60); return true; end $$;
    create or replace view layers.l${id} as ${definition} where mapwright.slowly()`);
  const tries = async () => Number((await sql("select last_value * is_called::int as n from tries"))[0].n);
  const look = async () => {
    const { json, headers } = await api("GET", "late/identify/?fields=name&point=1,1&zoom=5", {
      token: editor,
    });
    return [json.map(({ layer }: { layer: string }) => layer).sort(), headers.get("x-tile-incomplete")];
  };
  const others = ["base", "first"];
  // The first time it may have waited for a lock.
  for (const time of ["first", "second"]) t.same(await look(), [others, "view"], time);
  const before = await tries();
  t.ok(before >= 2, `${before} tries`);
  for (let time = 0; time < 3; time++) t.same(await look(), [others, "view"]);
  t.equal(await tries(), before, "it is not tried");
  await sql(`create or replace view layers.l${id} as ${definition}`);
  const changed = { parent_id: map, css_style: "#a { marker-width: 6; }" };
  t.equal((await api("PATCH", "late/layers/view/", { token: editor, body: changed })).status, 200);
  t.same(await look(), [[...others, "view"].sort(), null], "once it has changed it is");
});

t.test("layers that are switched off, hidden from the caller or drawn by clients are left out", async (t) => {
  await makeMap(server, "r");
  await layer("r", "open", "", named);
  const secret = await layer("r", "secret", "", named);
  const off = await layer("r", "off", "", named);
  await layer("r", "vector", "", named);
  for (const code of ["open", "secret", "off", "vector"]) await add("r", code, [[code, point(30, 30)]]);
  const put = await api("PUT", "r/layers/vector/vector/", { token: admin, body: { vectorSettings: {} } });
  t.equal(put.status, 200, put.text);
  await setGrant(server.nodes[0]!.services.db, { project: "p", map: "r", layer: "secret", login: null }, 0);
  await server.nodes[0]!.services.changes.propagate();
  const tree = (await api("GET", "r/layers/?type=full", { token: admin })).json.map(
    ({ id, code }: any, at: number) => ({
      id: at + 1,
      parent_id: 0,
      map_layer_id: id,
      selected: code !== "off",
    }),
  );
  t.equal((await api("POST", "r/publish/", { token: admin, body: tree })).status, 200);
  t.same(await names("r", "point=30,30&zoom=10", admin), ["open:open", "secret:secret"]);
  t.same(await names("r", "point=30,30&zoom=10"), ["open:open"]);
  t.same(await names("r", `point=30,30&zoom=10&layers=${secret}`), []);
  t.same(await names("r", `point=30,30&zoom=10&layers=${off},${secret}`, admin), [
    "secret:secret",
    "off:off",
  ]);
});

t.test("objects beside 180 degrees and beyond are found in each copy of the world", async (t) => {
  await makeMap(server, "w");
  await layer("w", "p", "#a { marker-width: 5; }", named);
  await add("w", "p", [
    ["west", point(-179.999, 10)],
    ["east", point(179.999, 10)],
  ]);
  for (const lon of [180, -180, 540, -540])
    t.same((await names("w", `point=10,${lon}&zoom=6`)).sort(), ["p:east", "p:west"], String(lon));
  t.same(await names("w", "point=10,180.001&zoom=18"), ["p:west"]);
  await layer("w", "beyond", "#a { polygon-fill: red; }", named);
  await add("w", "beyond", [["fiji", square(177, -20, 6)]]);
  for (const lon of [178, 182, -178, -182, 538])
    t.same(await names("w", `point=-18,${lon}&zoom=6`), ["beyond:fiji"], String(lon));
  t.same(await names("w", "point=-18,-176&zoom=6"), []);
});

t.test("objects of derived layers are found, those of images are not", async (t) => {
  const body = { code: "view", type: "virtual", source: { layer: "points", filter: "name = 'near'" } };
  t.equal((await api("POST", "m/layers/", { token: editor, body })).status, 200);
  const view = (await api("GET", "m/layers/view/")).json.id;
  t.same(await names("m", `point=50,10&zoom=11&layers=${view}`), ["view:near"]);
});

t.test("an edit is found at once, and what is deleted is not", async (t) => {
  const [id] = await add("m", "points", [["new", point(-60, -30)]]);
  t.same(await names("m", "point=-30,-60&zoom=9"), ["points:new"]);
  await api("DELETE", `m/layers/points/objects/${id}/`, { token: editor });
  t.same(await names("m", "point=-30,-60&zoom=9"), []);
});

t.test("values without a translation are shown as labels are", async (t) => {
  await makeMap(server, "t");
  await layer("t", "p", "", [{ code: "name", type: "string", localized_value: true }]);
  await api("POST", "t/layers/p/objects/", {
    token: editor,
    body: { fields: { name: { en: "Rome" } }, geom: point(12, 42) },
  });
  t.same(await names("t", "point=42,12&zoom=9&lng=ru"), ["p:Rome"]);
});

t.test("a map of many layers is looked at in a few statements", async (t) => {
  await makeMap(server, "many");
  for (let n = 0; n < 40; n++) {
    await layer("many", `l${n}`);
    await add("many", `l${n}`, [[null, point(40, 40)]]);
  }
  const all = await found("many", "point=40,40&zoom=5");
  t.same(
    all.map(({ layer }) => layer),
    Array.from({ length: 40 }, (_, n) => `l${n}`),
  );
});

t.test("what is no place, zoom or number is refused", async (t) => {
  const missing = await api("GET", "m/identify/");
  t.match(missing, {
    status: 500,
    json: { code: "required_parameters", data: { required: ["point", "zoom"] } },
  });
  for (const query of [
    "point=50&zoom=3",
    "point=50,10,3&zoom=3",
    "point=91,0&zoom=3",
    "point=0,721&zoom=3",
    "point=NaN,0&zoom=3",
    "point=1e400,0&zoom=3",
    "point=a,b&zoom=3",
    `point=${"9".repeat(1000)},0&zoom=3`,
    "point=0,0&zoom=23",
    "point=0,0&zoom=-1",
    "point=0,0&zoom=3.5",
    "point=0,0&zoom=3&limit=101",
    "point=0,0&zoom=3&tolerance=65",
    "point=0,0&zoom=3&layers=x",
  ])
    t.equal((await api("GET", `m/identify/?${query}`)).status, 400, query);
  t.equal((await api("GET", "nothing/identify/?point=0,0&zoom=3")).status, 404);
  t.equal((await api("POST", "m/identify/?point=0,0&zoom=3", { token: admin, body: {} })).status, 405);
  t.same(await found("m", "point=90,0&zoom=12"), []);
});

t.test("only the nearest objects are read from a large layer, by its index", async (t) => {
  await makeMap(server, "large");
  const id = await layer("large", "p", "#a { marker-width: 5; }");
  await sql(
    `insert into layers.l${id} (geom) select st_setsrid(st_makepoint(n % 300 * 0.001, n / 300 * 0.001), 4326)
     from generate_series(0, 59999) n`,
  );
  await sql(`analyze layers.l${id}`);
  const place = placeOf({ lat: 0.1, lon: 0.1 }, { zoom: 8, tolerancePixels: 64 });
  const searched = { layer: { id, crossesAntimeridian: false } as LayerNode, condition: "true" };
  const { text, values } = nearStatement([searched], place, 30);
  const [
    {
      "QUERY PLAN": [{ Plan }],
    },
  ] = (await sql(`explain (analyze, format json) ${text}`, [...values])) as any;
  const scans: any[] = [];
  const walk = (node: any) => {
    if (/Scan$/.test(node["Node Type"]) && node["Relation Name"]) scans.push(node);
    for (const inner of node.Plans ?? []) walk(inner);
  };
  walk(Plan);
  t.match(scans, [{ "Node Type": "Index Scan" }]);
  t.match(scans[0], { "Order By": /<->/, "Index Cond": /&&/ });
  t.ok(scans[0]["Actual Rows"] < 1_000, `${scans[0]["Actual Rows"]} rows`);
});

t.test("where a circle stands for several objects it is found as a whole", async (t) => {
  await makeMap(server, "clustered");
  await layer("clustered", "towns", "", named);
  const towns = [
    ["a", point(10.5, 7.7)],
    ["b", point(10.9, 7.7)],
    ["c", point(10.5, 8.1)],
  ] as const;
  const [first] = await add("clustered", "towns", [...towns, ["alone", point(20, 8)]]);
  const visualSettings = { type: 8, showBorder: false, classesSettings: { pointSizeMin: 24 } };
  const stored = await api("PUT", "clustered/layers/towns/visualization/", {
    token: editor,
    body: { visualSettings },
  });
  t.equal(stored.status, 200, stored.text);
  // A pixel at zoom 4 has 0.088 degrees.
  const [circle, ...others] = await found("clustered", "point=7.83,10.63&zoom=4");
  t.same(others, []);
  t.same([circle.id, circle.layer, circle.cluster.count], [first, "towns", 3]);
  const { sw, ne } = circle.cluster.bbox;
  for (const [at, wanted] of [sw, ne].flat().entries())
    t.ok(Math.abs(wanted - [7.7, 10.5, 8.1, 10.9][at]!) < 1e-6, "the box is around its objects");
  t.equal((await found("clustered", "point=7.83,11.7&zoom=4")).length, 1, "up to its rim");
  t.same(await found("clustered", "point=7.83,12.5&zoom=4&tolerance=2"), [], "beside it nothing is found");
  t.equal(
    (await found("clustered", "point=7.83,370.63&zoom=4"))[0].cluster.count,
    3,
    "in other copies of the world",
  );
  const alone = await found("clustered", "point=8,20&zoom=4");
  t.same(
    alone.map(({ fields, cluster }) => [fields.name, cluster]),
    [["alone", undefined]],
  );
  t.same(await names("clustered", "point=7.7,10.9&zoom=12"), ["towns:b"], "where it has parted");
  t.same(await found("clustered", "point=7.7,10.63&zoom=12"), []);
  await add("clustered", "towns", [["twin", point(20, 8)]]);
  t.same(
    (await names("clustered", "point=8,20&zoom=4")).sort(),
    ["towns:alone", "towns:twin"],
    "what no zoom parts is found one by one",
  );
});
