import t from "tap";
import { setPublication } from "../../src/catalog/maps.js";
import { addObject, makeMap, square } from "../support/maps.js";
import { type ApiOptions, startServer } from "../support/server.js";

/** In what the answers of the versions 2.2 and 2.0 differ from those of 2.8. */

const server = await startServer();
t.teardown(() => server.stop());
const { api, url } = server;
const { services } = server.nodes[0]!;
const [editor, viewer] = [await server.token("editor"), await server.token("viewer")];

async function older(version: string, method: string, path: string, options: ApiOptions = {}) {
  const answer = await fetch(`${url}/api/${version}/p/${path}`, {
    method,
    headers: {
      ...(options.token ? { "x-token": options.token } : {}),
      ...(options.body !== undefined ? { "content-type": "application/json" } : {}),
      ...options.headers,
    },
    ...(options.body !== undefined ? { body: JSON.stringify(options.body) } : {}),
  });
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.includes("json");
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}
const must = async (method: string, path: string, body: unknown) => {
  const answer = await api(method, path, { token: editor, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
};

const mapId = await makeMap(server, "m");
const folder = await must("POST", "m/folders/", { code: "d" });
const areas = await must("POST", "m/layers/", { code: "areas", parent_id: folder.id });
const empty = await must("POST", "m/layers/", { code: "empty" });
const values = await must("POST", "m/layers/", { code: "values" });
const plugged = await must("POST", "m/layers/", { code: "plugged" });
await addObject(server, "areas", square(10, 50, 2), { map: "m" });
await must("POST", "m/layers/areas/import/?action=1", {
  type: "FeatureCollection",
  features: [{ type: "Feature", properties: {}, geometry: square(10, 50, 2) }],
});
await must("POST", "m/layers/values/structure/", { code: "size", type: "number" });
await must("POST", "m/layers/values/structure/", { code: "born", type: "datetime" });
await must("POST", "m/layers/values/structure/", { code: "papers", type: "file" });
await must("PUT", "m/layers/values/visualization/", { visualSettings: { type: 1, columnCode: "size" } });
await must("PUT", "m/layers/plugged/visualization/", {
  visualCustomSettings: { type: "plug", columns: {}, icons: {}, settings: {} },
});
const box = { sw: [50, 10], ne: [52, 12] };
const versions = ["2.2", "2.0"] as const;
const byCode = (list: { code: string }[]): Record<string, any> =>
  Object.fromEntries(list.map((item) => [item.code, item]));

for (const version of versions) {
  const call = (method: string, path: string, options?: ApiOptions) => older(version, method, path, options);

  t.test(`a layer of ${version} has its geometry kind, two icons and its box`, async (t) => {
    const now = (await api("GET", "m/layers/areas/?returnBbox=1")).json;
    const { json } = await call("GET", "m/layers/areas/");
    t.same(json, { ...now, icon_retina: `${now.icon}?size=64`, g_type: "Polygon", bbox: box });
    t.match((await call("GET", "m/layers/empty/")).json, { g_type: "Unknown", bbox: null });
    for (const icon of [json.icon, json.icon_retina]) {
      const answer = await fetch(`${url}${icon}`);
      t.equal(answer.status, 200, icon);
      await answer.arrayBuffer();
    }
  });

  t.test(`every answer of ${version} that is a layer is such a one`, async (t) => {
    const code = `made${version.replace(".", "")}`;
    const path = `m/layers/${code}/`;
    const shape = { code, icon_retina: String, g_type: "Unknown", bbox: null, css_style: String };
    const body = { code, name: "One" };
    t.match((await call("POST", "m/layers/", { token: editor, body })).json, shape);
    t.match((await call("PATCH", path, { token: editor, body: { parent_id: 0 } })).json, shape);
    t.match((await call("PUT", path, { token: editor, body: { parent_id: 0 } })).json, shape);
    const point = { type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [1, 2] } };
    const imported = await call("POST", `${path}import/`, { token: editor, body: point });
    t.match(imported.json, { g_type: "Point", bbox: { sw: [2, 1], ne: [2, 1] }, icon_retina: String });
    t.equal((await call("DELETE", path, { token: editor })).text, "null");
  });

  t.test(`elements of ${version}'s tree have what its layers have`, async (t) => {
    const now = (await api("GET", "m/layers/?returnBbox=1")).json;
    const answer = await call("GET", "m/layers/");
    t.same(
      answer.json.map(({ id }: { id: number }) => id),
      now.map(({ id }: { id: number }) => id),
    );
    const tree = byCode(answer.json);
    t.match(tree.areas, {
      id: areas.id,
      g_type: "Polygon",
      bbox: box,
      icon_retina: /\/areas\/icon\/\?size=64$/,
    });
    t.match(tree.empty, { id: empty.id, g_type: "Unknown", bbox: null });
    t.match(tree.d, { type: "folder", g_type: "Unknown", bbox: box, icon_retina: "" });
    t.match((await call("GET", "m/layers/?returnBbox=0")).json[0], { bbox: box });
    const metres = byCode((await call("GET", "m/layers/?bboxSR=3857&returnCss=1")).json);
    t.ok(metres.areas.bbox.sw[0] > 6e6, "parameters are today's");
    t.match(metres.areas, { css_style: String });
  });

  t.test(`${version} knows visualizations, but no custom ones`, async (t) => {
    const tree = byCode((await call("GET", "m/layers/")).json);
    t.equal(tree.values.type, version === "2.0" ? "visual" : "layer");
    t.match(tree.values, { style_mode: 3, visualSettings: { type: 1 } });
    t.match(tree.plugged, { id: plugged.id, type: "layer", style_mode: 2, visualCustomSettings: undefined });
    t.match((await call("GET", "m/layers/values/")).json, { id: values.id, type: "layer", style_mode: 3 });
    t.match((await call("GET", "m/layers/plugged/")).json, {
      style_mode: 2,
      visualCustomSettings: undefined,
    });
    t.equal((await call("GET", "m/layers/values/legend/")).status, 200);
  });

  t.test(`a publication tree saved through ${version} is answered as its layer tree`, async (t) => {
    const element = { id: 7, parent_id: 0, map_layer_id: values.id, icon: "/icons/a.png" };
    const publish = (body: unknown, token: string | undefined = editor) =>
      call("POST", "m/publish/", { token, body });
    const answer = await publish([element, { id: 8, parent_id: 7, map_layer_id: areas.id }]);
    t.equal(answer.status, 200);
    t.same(answer.json, (await call("GET", "m/layers/", { token: editor })).json);
    t.match(answer.json, [
      { id: 7, map_layer_id: values.id, icon: "/icons/a.png", icon_retina: "/icons/a.png", bbox: null },
      { id: 8, parent_id: 7, g_type: "Polygon", bbox: box },
    ]);
    for (const ids of [
      [7, 7],
      [1.5, 2],
      ["x", 2],
    ]) {
      const refused = await publish(ids.map((id) => ({ ...element, id })));
      t.equal(refused.status, 500, `ids ${ids}`);
      t.match(refused.json, { code: "invalid_value" });
    }
    t.equal((await publish([], viewer)).status, 403);
    t.equal((await call("POST", "m/publish/", { body: [] })).status, 401);
    await server.sql.query("update map set publication = null where id = $1", [mapId]);
    await services.changes.propagate();
  });

  t.test(`moments are timestamps in ${version}`, async (t) => {
    const path = "m/layers/values/structure/";
    const columns = byCode((await call("GET", path)).json);
    t.equal(columns.born.type, "timestamp");
    t.equal(columns.size.type, "number");
    t.equal(byCode((await api("GET", path)).json).born.type, "datetime");
    for (const type of ["timestamp", "datetime"]) {
      const changed = await call("PATCH", `${path}born/`, { token: editor, body: { type, name: "Born" } });
      t.match(changed.json, { code: "born", type: "timestamp", name: "Born" });
    }
    t.equal(byCode((await api("GET", path)).json).born.type, "datetime");
  });

  t.test(`a client of ${version} gets all that it needs to show a map at once`, async (t) => {
    const { status, json } = await call("GET", "?map_code=m");
    t.equal(status, 200);
    t.same(json, {
      map: (await api("GET", "m/")).json,
      languages: ["en", "ru"],
      bbox: box,
      layers: (await call("GET", "m/layers/")).json,
    });
    const missing = await call("GET", "");
    t.equal(missing.status, 500);
    t.match(missing.json, { code: "required_parameters", data: { required: ["map_code"] } });
    t.equal((await call("GET", "?map_code=nowhere")).status, 404);
    t.equal((await call("GET", "?map_code=m&token=made-up")).status, 401);
    t.equal((await call("GET", "?map_code=m&bboxSR=1")).status, 400);
    const private_ = await call("GET", "?map_code=m", { token: viewer });
    t.equal(private_.headers.get("cache-control"), "private, no-store");
  });

  t.test(`a map that is not published stays so in ${version}`, async (t) => {
    const code = `closed${version.replace(".", "")}`;
    await makeMap(server, code);
    const project = await services.catalog.project("p");
    await setPublication(services.db, project.id, code, false);
    await services.changes.propagate();
    for (const path of [`${code}/`, `${code}/layers/`, `?map_code=${code}`]) {
      t.equal((await call("GET", path)).status, 403, path);
      t.equal((await call("GET", path, { token: viewer })).status, 200, path);
    }
  });

  t.test(`a file's path leads through ${version}`, async (t) => {
    const made = await api("POST", "m/layers/values/objects/", { token: editor, body: { fields: {} } });
    const form = new FormData();
    form.set("field", "papers");
    form.set("file", new File(["text"], "a.txt"));
    const answer = await fetch(`${url}/api/${version}/p/m/layers/values/objects/${made.json.id}/files/`, {
      method: "POST",
      headers: { "x-token": editor },
      body: form,
    });
    const { path } = (await answer.json()) as { path: string };
    t.ok(path.startsWith(`/api/${version}/p/`), path);
    t.equal(await (await fetch(`${url}${path}`)).text(), "text");
  });

  t.test(`sessions of ${version} are the same sessions`, async (t) => {
    const { json } = await call("POST", "login/", { body: { user: "editor", pass: "editoreditor" } });
    t.equal((await api("GET", `authorized/?token=${json.token}`)).text, "true");
    t.same((await call("POST", "logout/", { token: json.token })).json, { token: "" });
    t.equal((await api("GET", `authorized/?token=${json.token}`)).text, "false");
  });
}

t.test("2.2 edits objects", async (t) => {
  const path = "m/layers/values/objects/";
  const made = await older("2.2", "POST", path, { token: editor, body: { fields: { size: 4 } } });
  t.match(made.json, { fields: { size: 4 } });
  const own = `${path}${made.json.id}/`;
  t.match((await older("2.2", "PUT", own, { token: editor, body: { fields: { size: 5 } } })).json, {
    fields: { size: 5 },
  });
  t.match((await older("2.0", "GET", own)).json, { fields: { size: 5 } });
  t.type((await older("2.2", "GET", "m/layers/values/count/?precise=true")).json, "number");
  t.equal((await older("2.2", "DELETE", own, { token: editor })).text, "true");
});

t.test("2.0 makes maps that are published or not, as it is told", async (t) => {
  const make = (version: string, body: object, token = editor) => older(version, "POST", "", { token, body });
  for (const [code, publish, published] of [
    ["told", true, true],
    ["untold", undefined, true],
    ["kept", false, false],
    ["kept_too", "0", false],
  ] as const) {
    t.match((await make("2.0", { code, publish })).json, { code, has_publication: published });
    t.equal((await older("2.8", "GET", `${code}/`)).status, published ? 200 : 403, code);
  }
  t.equal((await make("2.0", { code: "odd", publish: "maybe" })).status, 400);
  t.equal((await api("GET", "odd/")).status, 404, "nothing was made");
  t.equal((await make("2.0", { code: "odd" }, viewer)).status, 403);
  for (const version of ["2.2", "2.8"]) {
    const code = `always${version.replace(".", "")}`;
    t.match((await make(version, { code, publish: false })).json, { code, has_publication: true });
  }
});
