import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { createProject } from "../../src/catalog/projects.js";
import { blockFont, dejaVu, names, withTables } from "../support/fonts.js";
import { addObject, makeMap, makeStyledLayer, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Fonts for styles: uploads, tiles whose labels are drawn in them, and what becomes of those that change or go. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const admin = await server.token("admin");
const { db } = server.nodes[0]!.services;
const otherId = await createProject(db, { code: "other", languages: ["en"] });
await addMember(db, { login: "admin", password: "adminadmin", projectId: otherId, role: "admin" });
const login = await fetch(`${server.url}/api/2.8/other/login/`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ user: "admin", pass: "adminadmin" }),
});
const otherAdmin = ((await login.json()) as { token: string }).token;

async function put(path: string, content: Buffer, project = "p") {
  const answer = await fetch(`${server.url}/api/2.8/${project}/fonts/${path}`, {
    method: "PUT",
    headers: { "content-type": "font/ttf", "x-token": project === "p" ? admin : otherAdmin },
    body: content as never,
  });
  const body = await answer.text();
  return { status: answer.status, json: body.startsWith("{") ? JSON.parse(body) : undefined };
}

const renamed = (file: string, family: string) =>
  withTables(dejaVu(file), { name: names(family, "Regular") });

const centre = { type: "Point", coordinates: [45, -40] };

async function labelMap(map: string, face: string, text: string): Promise<void> {
  await makeMap(server, map);
  const css = `#l { text-name: "'${text}'"; text-size: 60; text-fill: #ff0000; text-face-name: '${face}'; text-allow-overlap: true; }`;
  await makeStyledLayer(server, map, "l", css);
  await addObject(server, "l", centre, { map });
}

async function tile(map: string, node = 0, query = ""): Promise<Buffer> {
  const answer = await fetch(tileUrl(server, map, { lon: 1, lat: -1, z: 2 }, `&base=0${query}`, node));
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return Buffer.from(await answer.arrayBuffer());
}

/** Whether the left and the right half of the letter at the centre are red. */
async function halves(map: string, node = 0): Promise<[boolean, boolean]> {
  const drawn = await picture(await tile(map, node));
  const isRed = (x: number) => drawn.at(x, 124)[0] === 255 && drawn.at(x, 124)[3] === 255;
  return [isRed(110), isRed(146)];
}

t.test("labels are drawn in a project's font as in the same one of the installation", async (t) => {
  t.match(await put("serif/bold.ttf", renamed("DejaVuSerif-Bold.ttf", "Trajan Test")), {
    status: 200,
    json: { path: "serif/bold.ttf", format: "ttf", faces: ["Trajan Test Regular"] },
  });
  await labelMap("own", "Trajan Test Regular", "AVffi Ж");
  await labelMap("installed", "DejaVu Serif Bold", "AVffi Ж");
  await labelMap("plain", "DejaVu Sans Book", "AVffi Ж");
  for (const query of ["", "&retina=2"]) {
    const own = await tile("own", 0, query);
    t.ok(own.equals(await tile("installed", 0, query)), `the same pixels${query}`);
    t.notOk(own.equals(await tile("plain", 0, query)), `others than those of another font${query}`);
  }
});

t.test("a font that is added, changed or deleted draws labels anew on every node", async (t) => {
  await labelMap("changes", "Block Regular", "A");
  const similar = await tile("changes");
  t.match(await put("block.otf", blockFont({ family: "Block" })), { status: 200, json: { format: "otf" } });
  t.same(await halves("changes", 1), [true, true]);
  t.same(await halves("changes"), [true, true]);
  await put("block.otf", blockFont({ family: "Block", right: 500 }));
  t.same(await halves("changes", 1), [true, false], "of another node");
  t.same(await halves("changes"), [true, false]);
  await put("block.otf", blockFont({ family: "Block", left: 500 }));
  t.same(await halves("changes"), [false, true]);
  const list = await server.api("GET", "fonts/", { token: admin });
  t.match(list.json[0], { path: "block.otf", faces: ["Block Regular"] });
  t.equal((await server.api("DELETE", "fonts/block.otf", { token: admin })).status, 200);
  t.ok((await tile("changes", 1)).equals(similar), "in a similar one of the installation");
  t.equal((await server.api("DELETE", "fonts/block.otf", { token: admin })).status, 404);
});

t.test("projects have fonts of the same name, and none of the installation's", async (t) => {
  await put("left.otf", blockFont({ family: "Shared", right: 500 }));
  t.equal((await put("right.otf", blockFont({ family: "Shared", left: 500 }), "other")).status, 200);
  await labelMap("shared", "shared regular", "A");
  t.same(await halves("shared"), [true, false]);
  await server.api("DELETE", "fonts/left.otf", { token: admin });
  t.notSame(await halves("shared"), [false, true], "another project's font");
  const taken = await put("taken.ttf", withTables(dejaVu("DejaVuSans.ttf"), {}));
  t.match(taken, { status: 500, json: { code: "unsupported_format", message: /DejaVu Sans Book already/ } });
  const name = { name: names("DejaVu Sans", "Book") };
  t.match(await put("taken.otf", withTables(blockFont({ family: "x" }), name)), { status: 500 });
});

t.test("a font that is not there is told of with its place, and drawn in a similar one", async (t) => {
  await makeMap(server, "missing");
  const save = (css: string) =>
    server.api("POST", "missing/layers/", {
      token: admin,
      body: { code: `l${Math.random()}`.replace(".", ""), css_style: css },
    });
  const text = "text-name: [svc_id]; text-face-name";
  t.match((await save(`#l {\n  ${text}: "No Such Bold", 'None';\n}`)).json, {
    notices: ["Line 2, column 24: There is no font No Such Bold: labels are drawn in DejaVu Sans Bold."],
  });
  t.match((await save(`@f: "No Such"; #l { ${text}: @f; }`)).json.notices, [
    /^Line 1, column \d+: .* No Such:/,
  ]);
  t.equal((await save(`#l { ${text}: "No Such", "DejaVu Sans Bold"; }`)).json.notices, undefined);
  await put("there.otf", blockFont({ family: "There" }));
  t.equal((await save(`#l { ${text}: "No Such", "There Regular"; }`)).json.notices, undefined);
});

t.test("columns that a style asks for and the layer does not have are told of", async (t) => {
  await makeMap(server, "columns");
  await makeStyledLayer(server, "columns", "l", "#l { marker-width: 5; }");
  await server.api("POST", "columns/layers/l/structure/", {
    token: admin,
    body: { code: "kind", type: "string" },
  });
  const save = async (css: string) =>
    (await server.api("PATCH", "columns/layers/l/", { token: admin, body: { parent_id: 0, css_style: css } }))
      .json;
  t.match(
    await save(
      "#l[nosuch=1] { marker-width: 5; } #l { text-name: [alsono]; text-face-name: 'DejaVu Sans Book'; }",
    ),
    {
      notices: [/no column "alsono"/, /no column "nosuch"/],
    },
  );
  const fine =
    "#l[kind='a']['mapnik::geometry_type'=1] { marker-width: 5; } #l[svc_id>5] { marker-width: 6; }";
  t.equal((await save(fine)).notices, undefined);
});

t.test("what is no font, and paths that no font can have, are refused", async (t) => {
  t.match(await put("a.ttf", Buffer.from("no font")), {
    status: 500,
    json: { code: "unsupported_format", message: /no TrueType or OpenType font/ },
  });
  t.equal((await put("big.ttf", Buffer.alloc(5 * 1024 ** 2))).status, 413);
  for (const path of ["x.woff", "x.svg", ".hidden.ttf", "a/.b/c.ttf", "%2e%2e/x.ttf"])
    t.ok((await put(path, blockFont({ family: "x" }))).status >= 400, path);
  const map = await server.api("POST", "", { token: admin, body: { code: "fonts" } });
  t.equal(map.json.code, "invalid_code", "no map can have the code");
});

t.test("a project has so many fonts at most", async (t) => {
  await server.sql.query(
    `insert into font (project_id, path, blob, digest, format, names, bytes)
     select id, i || '.ttf', gen_random_uuid(), i, 'ttf', '{x}', 1000 from project, generate_series(1, 100) i
     where code = 'other'`,
  );
  t.match((await put("more.otf", blockFont({ family: "More" }), "other")).json, {
    code: "invalid_value",
    message: /at most 100 fonts/,
  });
});
