import t from "tap";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** External layers: rasters of other servers, for clients to draw. */

const server = await startServer({
  config: { externalHosts: ["tiles.example.org", "wms.example.org:8443"] },
});
t.teardown(() => server.stop());
const { api } = server;
const editor = await server.token("editor");
await makeMap(server, "m");
const make = (source: unknown, code?: string) =>
  api("POST", "m/layers/", { token: editor, body: { type: "external", source, code } });

t.test("an external layer is in the tree with its source", async (t) => {
  const source = {
    url: "https://tiles.example.org/a/{z}/{x}/{y}.png",
    minZoom: 2,
    maxZoom: 18,
    attribution: "Example",
  };
  const made = await make(source, "tiles");
  t.match(made, { status: 200, json: { type: "external", code: "tiles", source } });
  t.same((await api("GET", "m/layers/tiles/")).json, made.json);
  t.match((await api("GET", "m/layers/?returnBbox=1")).json, [{ type: "external", source, bbox: null }]);
  t.equal((await api("GET", "m/layers/tiles/objects/")).status, 404);
  t.equal((await api("GET", "m/layers/tiles/count/")).status, 404);
  t.equal((await fetch(`${server.url}/tms/p/m/?x=0&y=0&z=0&base=0`)).status, 200);
  t.equal((await api("POST", "m/layers/tiles/makevalid/", { token: editor })).status, 404);
});

t.test("an external layer has no style, unless it is given one", async (t) => {
  const source = { url: "https://tiles.example.org/b/{z}/{x}/{y}.png" };
  t.match(await make(source, "bare"), { status: 200, json: { css_style: "", style_mode: 0 } });
  const change = (method: string, more: object) =>
    api(method, "m/layers/bare/", { token: editor, body: { parent_id: 0, ...more } });
  t.match((await change("PUT", { name: "Bare" })).json, { css_style: "", style_mode: 0, name: "Bare" });
  const css = "#a { raster-opacity: 0.5; }";
  t.match((await change("PATCH", { css_style: css })).json, { css_style: css, style_mode: 2 });
  t.match((await change("PATCH", { name: "Styled" })).json, { css_style: css, style_mode: 2 });
  t.match((await change("PUT", {})).json, { css_style: "", style_mode: 0 });
  t.equal((await api("DELETE", "m/layers/bare/", { token: editor })).status, 200);
});

t.test("addresses of the three kinds of services are taken", async (t) => {
  for (const url of [
    "http://tiles.example.org/{z}/{x}/{-y}.png",
    "https://TILES.example.org/t?z={z}&x={x}&y={y}",
    "https://wms.example.org:8443/ows?SERVICE=WMS&layers=a",
  ]) {
    const answer = await make({ url });
    t.match(
      answer,
      { status: 200, json: { source: { url, minZoom: null, maxZoom: null, attribution: "" } } },
      url,
    );
    t.equal((await api("DELETE", `m/layers/${answer.json.code}/`, { token: editor })).status, 200);
  }
});

t.test("every other address is refused", async (t) => {
  for (const url of [
    7,
    "tiles.example.org/{z}/{x}/{y}.png",
    "ftp://tiles.example.org/{z}/{x}/{y}.png",
    "javascript:alert(1)//{z}{x}{y}",
    "https://other.example.org/{z}/{x}/{y}.png",
    "https://tiles.example.org.evil.org/{z}/{x}/{y}.png",
    "https://tiles.example.org:8443/{z}/{x}/{y}.png",
    "https://wms.example.org/?service=WMS",
    "https://user:pw@tiles.example.org/{z}/{x}/{y}.png",
    "https://tiles.example.org@evil.org/{z}/{x}/{y}.png",
    "https://evil.org\\@tiles.example.org/{z}/{x}/{y}.png",
    "https://{z}.example.org/{x}/{y}.png",
    "https://tiles.example.org/{s}/{z}/{x}/{y}.png",
    "https://tiles.example.org/{z}/{x}.png",
    "https://tiles.example.org/{z}/{x}/{y}/{-y}.png",
    "https://tiles.example.org/",
    "https://tiles.example.org/ {z}/{x}/{y}.png",
    `https://tiles.example.org/{z}/{x}/{y}/${"x".repeat(2_000)}`,
  ]) {
    t.match(await make({ url }), { status: 500, json: { code: "invalid_value" } }, String(url));
  }
  const url = "https://tiles.example.org/{z}/{x}/{y}.png";
  for (const extra of [{ minZoom: 5, maxZoom: 4 }, { minZoom: -1 }, { maxZoom: 99 }, { attribution: 7 }])
    t.match(await make({ url, ...extra }), { status: 500, json: { code: "invalid_value" } });
  t.match(await make({}), { status: 500, json: { code: "required_parameters" } });
});
