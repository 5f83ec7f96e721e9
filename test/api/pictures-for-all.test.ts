import sharp from "sharp";
import t from "tap";
import { addMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { setPublication } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { toldCdn } from "../support/cdn.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, type TestServer } from "../support/server.js";
import { makeFileLayer, makeObject, send } from "./files.support.js";

/** What the public may see is refused to nobody, whatever token comes along. */

const server = await startServer({ config: toldCdn });
t.teardown(() => server.stop());
const { services } = server.nodes[0]!;
const project = await services.catalog.project("p");
const editor = await server.token("editor");

await makeMap(server, "closed");
await makeStyledLayer(server, "closed", "seen", "#seen { polygon-fill: #f00; }");
await setPublication(services.db, project.id, "closed", false);
await makeMap(server, "m");
for (const [code, colour, lon] of [
  ["seen", "#f00", 0],
  ["kept", "#00f", 20],
] as const) {
  await makeStyledLayer(server, "m", code, `#${code} { polygon-fill: ${colour}; }`);
  await addObject(server, code, square(lon, 0, 20), { map: "m" });
}
await setGrant(services.db, { project: "p", login: null, map: "m", layer: "kept" }, 0);
for (const code of ["files", "secret"]) await makeFileLayer(server, code);
await setGrant(services.db, { project: "p", login: null, map: "m", layer: "secret" }, 0);
await services.changes.propagate();
const dot = await sharp({ create: { width: 2, height: 2, channels: 3, background: "red" } })
  .png()
  .toBuffer();
const visualSettings = { type: 2, columnCode: "name", classesSettings: { classes: [{ value: "a" }] } };
const imageOf = async (layer: string) => {
  const put = await server.api("PUT", `m/layers/${layer}/visualization/`, {
    token: editor,
    body: { visualSettings },
  });
  const object = await makeObject(server, layer);
  const file = await send(server, `${layer}/objects/${object}`, {
    bytes: dot,
    name: "a.png",
  });
  if (put.status !== 200 || file.status !== 200) throw new Error(put.text + file.text);
  return file.json.uuid as string;
};
const [image, secretImage] = [await imageOf("files"), await imageOf("secret")];

const api = "/api/2.8/p";
/** What the public may see, and what is of the same kind and kept from it. */
const views = {
  "a tile": ["/tms/p/m/?x=0&y=0&z=0&base=0", "/tms/p/closed/?x=0&y=0&z=0&base=0"],
  "a tile by its path": ["/tms/p/m/0/0/0.png?base=0", "/tms/p/closed/0/0/0.png?base=0"],
  "a tile by its path from the south": [
    "/tms/p/m/tms/0/0/0.png?base=0",
    "/tms/p/closed/tms/0/0/0.png?base=0",
  ],
  "a tile map": ["/tms/p/m/tms/tilemapresource.xml", "/tms/p/closed/tms/tilemapresource.xml"],
  "a description of tiles": ["/tms/p/m/tile.json", "/tms/p/closed/tile.json"],
  "a vector tile": ["/tms/p/m/0/0/0.mvt", "/tms/p/closed/0/0/0.mvt"],
  "a description of vector tiles": ["/tms/p/m/tile.mvt.json", "/tms/p/closed/tile.mvt.json"],
  "an icon": [`${api}/m/layers/seen/icon/`, `${api}/m/layers/kept/icon/`],
  "an image": [`${api}/image/${image}/`, `${api}/image/${secretImage}/`],
  "a legend": [`${api}/m/layers/files/legend/`, `${api}/m/layers/secret/legend/`],
} as const;

const login = async (user: string, at = "p", pass = `${user}${user}`): Promise<string> => {
  const answer = await fetch(`${server.url}/api/2.8/${at}/login/`, {
    method: "POST",
    body: new URLSearchParams({ user, pass }),
  });
  return ((await answer.json()) as { token: string }).token;
};
const ended = await login("viewer");
await server.api("POST", "logout/", { token: ended });
const elsewhere = await createProject(services.db, { code: "elsewhere" });
await addMember(services.db, {
  login: "stranger",
  password: "stranger",
  projectId: elsewhere,
  role: "admin",
});
/** Tokens that are nobody's here, and what they are refused with where the public may not see. */
const tokens: readonly (readonly [name: string, token: string, status: number])[] = [
  ["made up", "A".repeat(43), 401],
  ["no token at all", "nonsense", 401],
  ["ended", ended, 401],
  ["another project's", await login("stranger", "elsewhere", "stranger"), 403],
];

async function get(of: TestServer, path: string, token?: string, place: "query" | "x-token" = "query") {
  const url = `${of.url}${path}`;
  const answer =
    token === undefined
      ? await fetch(url)
      : place === "query"
        ? await fetch(`${url}${url.includes("?") ? "&" : "?"}token=${token}`)
        : await fetch(url, { headers: { "x-token": token } });
  const { status, headers } = answer;
  return { status, headers, body: Buffer.from(await answer.arrayBuffer()).toString("latin1") };
}

t.test(
  "a token that is nobody's counts as none where the public may see, and its answer is kept by nobody",
  async (t) => {
    for (const [view, [path, hidden]] of Object.entries(views)) {
      const open = await get(server, path);
      t.equal(open.status, 200, view);
      for (const [name, token, status] of tokens) {
        for (const place of ["query", "x-token"] as const) {
          const answer = await get(server, path, token, place);
          t.equal(answer.status, 200, `${view}, ${name} in ${place}`);
          t.ok(answer.body === open.body, `${view}, ${name}: what the public gets`);
          t.equal(answer.headers.get("cache-control"), "private, no-store", `${view}, ${name} in ${place}`);
          t.equal(answer.headers.get("surrogate-key"), null, `${view}, ${name} in ${place}`);
          t.equal(
            (await get(server, hidden, token, place)).status,
            status,
            `${view} that is hidden, ${name}`,
          );
        }
        const address = `${path}${path.includes("?") ? "&" : "?"}token=${token}`;
        t.equal(
          services.tileAnswers.ready(address),
          undefined,
          `${view}, ${name}: no answer under its address`,
        );
      }
      t.equal((await get(server, hidden)).status, 403, `${view} that is hidden, without a token`);
    }
  },
);

t.test("a token that is somebody's still shows what that user may see", async (t) => {
  const [path] = views["a tile"];
  const own = await get(server, path, editor);
  t.equal(own.status, 200);
  t.not(own.body, (await get(server, path)).body, "with the layer that is kept from the public");
  t.equal(own.headers.get("cache-control"), "private, no-store");
});

t.test("everywhere else such a token is refused", async (t) => {
  for (const path of ["m/", "m/layers/", "m/layers/seen/", "m/layers/seen/objects/", "m/search/?phrase=a"]) {
    for (const [name, token, status] of tokens)
      t.equal((await server.api("GET", path, { token })).status, status, `${path}, ${name}`);
  }
});

t.test("while tokens cannot be checked the public's pictures go on", async (t) => {
  const alone = await startServer({ config: { redisUrl: "redis://127.0.0.1:1" } });
  t.teardown(() => alone.stop());
  for (const [code, open] of [
    ["m", true],
    ["closed", false],
  ]) {
    await alone.sql.query(
      "insert into map (project_id, code, has_publication) select id, $1, $2 from project where code = 'p'",
      [code, open],
    );
  }
  const { tileAnswers } = alone.nodes[0]!.services;
  for (const view of ["a tile", "a tile by its path", "a description of tiles"] as const) {
    const [path, hidden] = views[view];
    const open = await get(alone, path);
    const answer = await get(alone, path, "A".repeat(43));
    t.equal(answer.status, 200, view);
    t.ok(answer.body === open.body, `${view}: what the public gets`);
    t.equal(answer.headers.get("cache-control"), "private, no-store", view);
    t.equal(
      tileAnswers.ready(`${path}${path.includes("?") ? "&" : "?"}token=${"A".repeat(43)}`),
      undefined,
      view,
    );
    t.equal((await get(alone, hidden, "A".repeat(43))).status, 503, `${view} that is hidden`);
  }
});
