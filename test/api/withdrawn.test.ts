import t from "tap";
import { removeMember } from "../../src/access/accounts.js";
import { setGrant } from "../../src/access/grants.js";
import { makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";
import { collection, feature } from "../support/transfer.js";

/** What was given out by an id or a key while it was allowed is not given any more when the right has been withdrawn. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api, sql } = server;
const { db, changes } = server.nodes[0]!.services;
const admin = await server.token("admin");
const token = await server.token("editor");

await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
await sql.query("update map set has_publication = false where code = 'm'");
await api("POST", "m/layers/a/structure/", { token, body: { code: "photo", type: "file" } });
const made = await api("POST", "m/layers/a/objects/", {
  token,
  body: { fields: {}, geom: square(10, 50, 1) },
});
const object = made.json.id as number;
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const form = new FormData();
form.set("field", "photo");
form.set("file", new Blob([png], { type: "image/png" }), "dot.png");
const sent = await fetch(`${server.url}/api/2.8/p/m/layers/a/objects/${object}/files/?token=${token}`, {
  method: "POST",
  body: form,
});
const file = (await sent.json()) as { id: number; uuid: string };
const job = (
  await api("POST", "m/layers/a/import/?async=1", { token, body: collection(feature({ photo: null })) })
).json.id as string;
await waitFor(
  async () => (await api("GET", `m/layers/a/import/${job}/`, { token })).json.state !== "running",
);
const { key } = (await api("POST", "m/tile-key/", { token, body: {} })).json as { key: string };

const tile = "/tms/p/m/6/33/21.png?base=0";
/** What is asked for with the token, or with the key where the token stands. */
const withToken = [
  `/api/2.8/p/m/layers/a/import/${job}/`,
  `/api/2.8/p/image/${file.uuid}/?w=1`,
  `/api/2.8/p/m/layers/a/objects/${object}/files/${file.uuid}/`,
  `/api/2.8/p/m/layers/a/objects/${object}/files/${file.id}/`,
  `/api/2.8/p/m/layers/a/objects/${object}/?f=pdf`,
  "/api/2.8/p/m/layers/a/export/?format=geojson",
  "/api/2.8/p/m/layers/a/objects/",
  "/api/2.8/p/m/layers/a/legend/?extended=1",
  "/api/2.8/p/m/layers/a/icon/",
  "/api/2.8/p/m/layers/a/",
  "/api/2.8/p/m/layers/",
  "/api/2.8/p/m/export/?format=mbtiles&maxzoom=2&base=0",
  tile,
  "/tms/p/m/tile.json",
];
const withKey = [
  tile,
  "/tms/p/m/tile.json",
  "/api/2.8/p/m/layers/a/icon/",
  "/api/2.8/p/m/layers/a/legend/?extended=1",
];

const get = async (path: string, node: number, by: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${server.urls[node]}${path}${path.includes("?") ? "&" : "?"}${by}`, {
    headers,
  });
  await answer.arrayBuffer();
  return answer;
};
const all = [
  ...withToken.map((path) => [path, `token=${token}`] as const),
  ...withKey.map((path) => [path, `key=${key}`] as const),
];
const etags = new Map<string, string>();

/** Asks each node for all. */
async function ask(t: Tap, expected: (status: number) => boolean, when: string): Promise<void> {
  for (const [path, by] of all)
    for (const node of [0, 1]) {
      const etag = etags.get(path + by);
      for (const headers of etag ? [{}, { "if-none-match": etag }] : [{}]) {
        const answer = await get(path, node, by, headers as Record<string, string>);
        t.ok(expected(answer.status), `${when}: ${path} by ${by.slice(0, 5)}: ${answer.status}`);
        if (answer.status === 200 && answer.headers.get("etag"))
          etags.set(path + by, answer.headers.get("etag")!);
      }
    }
}

async function listen(node: number) {
  const controller = new AbortController();
  t.teardown(() => controller.abort());
  const answer = await fetch(`${server.urls[node]}/tms/p/m/changes/?token=${token}`, {
    signal: controller.signal,
  });
  const heard = { text: "", ended: false };
  void (async () => {
    for await (const chunk of answer.body!) heard.text += Buffer.from(chunk as Uint8Array).toString();
  })()
    .catch(() => undefined)
    .finally(() => {
      heard.ended = true;
    });
  await waitFor(() => heard.text.includes("id:"));
  return heard;
}

t.test("a right, given or withdrawn, counts for what was given out before", async (t) => {
  const give = async (rights: number | undefined, layer?: string) => {
    await setGrant(db, { project: "p", map: "m", layer, login: "editor" }, rights);
    await changes.propagate();
  };
  await ask(t, (status) => status === 200 || status === 304, "allowed");
  const streams = await Promise.all([listen(0), listen(1)]);
  await give(0);
  await ask(t, (status) => status === 403, "withdrawn");
  for (const heard of streams) await waitFor(() => heard.ended);
  await give(undefined);
  await ask(t, (status) => status === 200 || status === 304, "given again");
});

t.test("who is no longer one of the project's gets nothing, whatever he has", async (t) => {
  const streams = await Promise.all([listen(0), listen(1)]);
  await removeMember(db, "editor");
  await changes.propagate();
  await ask(t, (status) => status === 401, "removed");
  for (const heard of streams) {
    await waitFor(() => heard.ended);
    t.match(heard.text, "event: session");
  }
  t.equal((await api("GET", "m/", { token: admin })).status, 200);
});

type Tap = Pick<typeof t, "ok">;
