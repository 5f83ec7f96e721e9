import t from "tap";
import { apiRoutes } from "../../src/api/routes.js";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Members of JSON bodies, fields of forms and parameters that an operation does not know do nothing, and answers name them. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const admin = await server.token("admin");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "l", "");

/** The header, once the request has been done. */
async function ignored(method: string, path: string, body: unknown, headers = {}): Promise<string | null> {
  const answer = await api(method, path, { token: admin, body, headers });
  t.equal(answer.status, 200, `${method} ${path}: ${answer.text.slice(0, 300)}`);
  return answer.headers.get("x-ignored");
}

t.test("a misspelt member is named, known ones are not", async (t) => {
  const size = { code: "size", type: "number", format: { kind: "number", decimls: 2, "suf.fix": "m" } };
  const kept = { ...size, format: { kind: "number", prefix: { en: "a", de: "b" } }, token: admin };
  t.same(
    [
      await ignored("PATCH", "m/", { nmae: "Map", name: { en: "Map" } }),
      await ignored("PATCH", "m/", { name: "Map", group_layers: 0, token: admin }),
      await ignored("POST", "", { code: "other", css: "", title: 1 }),
      await ignored("POST", "m/folders/", { code: "f", colour: "red", json: { any: { thing: 1 } } }),
      await ignored("PATCH", "m/folders/f/", { parent_id: 0, nmae: "" }),
      await ignored("PATCH", "m/layers/l/", { parent_id: 0, css_stlye: "" }),
      await ignored("POST", "m/layers/l/structure/", size),
      await ignored("PATCH", "m/layers/l/structure/size/", { type: "number", requird: true }),
      await ignored("PATCH", "m/layers/l/structure/size/", kept),
      await ignored("POST", "m/layers/", { code: "v", type: "virtual", source: { layer: "l", fliter: "" } }),
      await ignored("POST", "m/publish/", [
        { id: 1, parent_id: 0, map_layer_id: layer.id, nmae: "x" },
        { id: 2, parent_id: 0, map_layer_id: layer.id, nmae: "y", icno: "z" },
      ]),
      await ignored("PUT", "m/layers/l/constraints/", [
        { type: "range", name: "r", columns: ["size"], definition: [0, 9], strict: true },
      ]),
      await ignored("PUT", "m/search/settings/", []),
      await ignored("PUT", "m/layers/l/visualization/", {
        visualSettings: {
          type: 1,
          columnCode: "size",
          classesSettings: { opcity: 1 },
          txt: {},
        },
      }),
      await ignored("PUT", "m/layers/l/vector/", { clusterSettings: { radios: 3 }, minZoom: 1 }),
      await ignored("POST", "m/layers/l/filter/", { fields: "*", filds: "size" }),
    ],
    [
      ...["nmae", null, "css, title", "colour", "nmae", "css_stlye", "format.decimls, format.suf%2Efix"],
      ...["requird", null, "source.fliter", "nmae, icno", "strict", null],
      ...["visualSettings.classesSettings.opcity, visualSettings.txt", "clusterSettings.radios", "filds"],
    ],
  );
});

t.test("of objects and of many edits, however large they are", async (t) => {
  const objects = "m/layers/l/objects/";
  const far = "x".repeat(200_000);
  t.equal(await ignored("POST", objects, { fields: { size: 1 }, gemo: null }), "gemo");
  t.equal(await ignored("POST", objects, { fields: { size: 1 }, geom: null }), null);
  t.equal(await ignored("POST", objects, { fields: { size: 1 }, gemo: far }), "gemo", "in another thread");
  const edit = (more: object) => ({ op: "create", fields: { size: 2 }, ...more });
  const many = Array.from({ length: 3_000 }, () => edit({ filds: 1 }));
  t.equal(await ignored("POST", `${objects}bulk/`, [edit({ gemo: 1 }), edit({ gemo: 2, x: 1 })]), "gemo, x");
  t.equal(await ignored("POST", `${objects}bulk/`, [edit({})]), null);
  t.equal(await ignored("POST", `${objects}bulk/`, many), "filds", "in another thread");
});

t.test("names may hold anything, and are cut", async (t) => {
  const names = { "é\n": 1, 'a,"b"': 1, "c.d": 1, "": 1, __proto__x: 1, "emoji 😀": 1 };
  t.equal(
    await ignored("PATCH", "m/", { ...names, ["n".repeat(500)]: 1 }),
    `%C3%A9%0A, a%2C%22b%22, c%2Ed, "", __proto__x, emoji%20%F0%9F%98%80, ${"n".repeat(60)}...`,
  );
  t.equal(
    await ignored("PATCH", "m/", JSON.parse('{"__proto__": {"a": 1}, "toString": 1}')),
    "__proto__, toString",
  );
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`ж${at}`.repeat(30), at]));
  const told = (await ignored("PATCH", "m/", many))!;
  t.ok(told.length <= 1_000 && told.endsWith(", ..."), told);
});

t.test("a misspelt parameter is named, known ones are not", async (t) => {
  const get = (path: string) => ignored("GET", path, undefined);
  const shown = "m/layers/l/objects/";
  t.same(
    [
      await get(`${shown}?fitler=size&limit=1`),
      await get(`${shown}?filter=&fields=*&sort=svc_id&lng=en&f=json&token=${admin}`),
      await get(`${shown}?fitler=1&fitler=2&%C3%A9%0A=1&X-Evil:%0D%0Aa=1&key=1`),
      await get(`m/layers/l/icon/?size=20&key=1&sise=3`),
      await get("m/layers/?returnBbox=1&lgn=en"),
      await ignored("POST", `${shown}?retrunGeom=1`, { fields: {}, gemo: null }),
      await ignored("POST", "m/layers/l/filter/?limit=1&fields=*&ofset=1", {}),
      await ignored("POST", "m/layers/l/import/?action=2&srs=4326&dry_run=1&acton=1", {
        type: "FeatureCollection",
        features: [],
      }),
    ],
    [
      ...["fitler", null, "fitler, %C3%A9%0A, X-Evil%3A%0D%0Aa, key", "sise", "lgn", "retrunGeom, gemo"],
      ...["ofset", "acton"],
    ],
  );
  const many = Array.from({ length: 300 }, (_, at) => `n${at}=`).join("&");
  const told = (await get(`m/?${many}`))!;
  t.ok(told.length <= 1_000 && told.endsWith(", ..."), told);
});

t.test("of tiles it is not", async (t) => {
  const tile = await fetch(`${server.url}/tms/p/m/?x=0&y=0&z=0&base=0&strange=1`);
  await tile.arrayBuffer();
  t.same([tile.status, tile.headers.get("x-ignored")], [200, null]);
});

t.test("of a login in the query and in forms", async (t) => {
  const request = (body: string, type: string) =>
    fetch(`${server.url}/api/2.8/p/login/?strange=1&login=admin`, {
      method: "POST",
      body,
      headers: { "content-type": type },
    });
  const form = await request("password=adminadmin&more=1", "application/x-www-form-urlencoded");
  t.same([form.status, form.headers.get("x-ignored")], [200, "strange, more"]);
  const json = await request('{"password":"adminadmin","more":1}', "application/json");
  t.same([json.status, json.headers.get("x-ignored")], [200, "strange, more"], "aliases are known");
  t.match(json.headers.get("access-control-expose-headers"), /\bX-Ignored\b/);
});

t.test("of an import as a form, in which a misspelt key would add all objects anew", async (t) => {
  const file = new Blob(['{"type": "FeatureCollection", "features": []}']);
  const sent = async (more: Readonly<Record<string, string>>) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ token: admin, partial: "1", ...more }))
      form.set(name, value);
    form.set("file", file, "a.geojson");
    const answer = await fetch(`${server.url}/api/2.8/p/m/layers/l/import/`, { method: "POST", body: form });
    return [answer.status, answer.headers.get("x-ignored"), (await answer.text()).slice(0, 0)];
  };
  t.same(await sent({ kye: "size" }), [200, "kye", ""]);
  t.same(await sent({}), [200, null, ""]);
});

t.test("in older versions, and of a repeated request", async (t) => {
  const body = { parent_id: 0, nmae: "x" };
  const older = await fetch(`${server.url}/api/2.2/p/m/layers/l/`, {
    method: "PATCH",
    body: JSON.stringify(body),
    headers: { "x-token": admin },
  });
  t.same([older.status, older.headers.get("x-ignored")], [200, "nmae"]);
  const tree = await fetch(`${server.url}/api/2.2/p/m/layers/?lgn=en`, { headers: { "x-token": admin } });
  await tree.json();
  t.same([tree.status, tree.headers.get("x-ignored")], [200, "lgn"]);
  const headers = { "idempotency-key": "ignored-1" };
  for (const time of ["first", "again"])
    t.equal(await ignored("PATCH", "m/", { nmae: 1 }, headers), "nmae", time);
});

t.test("every operation that takes a JSON object knows what is in it", (t) => {
  // A geometry has foreign members by its own standard (RFC 7946).
  const open = ["PUT objects/:object/geom/"];
  for (const { methods, path, body } of apiRoutes) {
    const schema = body?.hasFile ? undefined : body?.content["application/json"];
    if (!schema) continue;
    const name = `${methods[0]} ${path.slice(path.indexOf("objects/:object/geom"))}`;
    t.equal(body?.known === undefined, open.includes(name), `${methods} ${path}`);
  }
  t.end();
});
