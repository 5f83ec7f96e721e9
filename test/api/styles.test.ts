import t from "tap";
import { makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Hostile CartoCSS through the API: refused by name, the layer as before, the server unharmed. */

const server = await startServer();
t.teardown(() => server.stop());
const node = server.nodes[0]!;
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; }");
const token = await server.token("editor");

const exploding = `#a { ${"[a=1],".repeat(3)}[b=2] { ${"[c=3],[d=4] { ".repeat(20)} line-width: 1; ${"}".repeat(20)} } }`;
const hostile: Record<string, string> = {
  "XML in an address": `#a { marker-file: url('x"/><Layer name="x"><Datasource><Parameter name="type">csv</Parameter></Datasource></Layer>'); }`,
  "an end of CDATA in a text": `#a { text-name: "']]><Layer/>'"; text-face-name: "DejaVu Sans Book"; }`,
  "a file of the machine": "#a { polygon-pattern-file: url(/etc/passwd); }",
  "an address on the network": "#a { marker-file: url(http://127.0.0.1:1/x.svg); }",
  "a file by column": "#a { marker-file: url([name].svg); }",
  "an enormous buffer": "Map { buffer-size: 100000000; } #a { line-width: 1; }",
  "an enormous blur": "#a { image-filters: agg-stack-blur(10000,10000); line-width: 1; }",
  "marks without spacing": "#a { marker-placement: line; marker-spacing: 0; }",
  "an enormous mark": "#a { marker-width: 1000000000; }",
  "exploding filters": exploding,
  "a regular expression": '#a[name =~ "(a+)+$"] { line-width: 1; }',
  "two thousand brackets": `#a { line-width: ${"(".repeat(2000)}1${")".repeat(2000)}; }`,
  "more than a megabyte of text": `#a { line-width: 1; } /* ${"я".repeat(600_000)} */`,
  "no CartoCSS at all": "<?xml version='1.0'?><Map/>",
  "an unknown property": "#a { line-colour: red; }",
};

for (const [name, css_style] of Object.entries(hostile)) {
  t.test(`a style with ${name} is refused`, async (t) => {
    const pid = node.services.render.pid;
    for (const [method, path, body] of [
      ["POST", "m/layers/", { code: "new", css_style }],
      ["PATCH", "m/layers/a/", { parent_id: 0, css_style }],
    ] as const) {
      const answer = await server.api(method, path, { token, body });
      t.equal(answer.status, 500, answer.text.slice(0, 200));
      t.match(answer.json, { error: "error", code: "invalid_style" });
      t.notMatch(answer.text, /node_modules|workers\/|at Object/);
    }
    t.equal((await server.api("GET", "m/layers/a/")).json.css_style, "#a { polygon-fill: #ff0000; }");
    t.equal((await server.api("GET", "m/layers/new/")).status, 404);
    t.equal((await fetch(tileUrl(server, "m", { lon: 1, lat: 1, z: 3 }))).status, 200);
    t.equal(node.services.render.pid, pid, "the host that compiles is the same");
  });
}

t.test("a good style is taken after all of them", async (t) => {
  const css_style =
    "@w: 2; #whatever::case { line-width: @w + 1; line-color: lighten(#336699, 10%); } #a [zoom>=5] { polygon-fill: #0a0; }";
  const answer = await server.api("PATCH", "m/layers/a/", { token, body: { parent_id: 0, css_style } });
  t.equal(answer.status, 200, answer.text);
  t.equal(answer.json.css_style, css_style);
});
