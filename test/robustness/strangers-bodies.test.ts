import { watch } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import t from "tap";
import { makeMap, makeStyledLayer } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** A stranger sends large bodies to whatever takes one, while a signed-in user works. Rows 57 and 58. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "l", "#l { line-width: 1; }");
const base = `${server.url}/api/2.8/p`;

const writers = [
  ["POST", "login/"],
  ["POST", "ext-auth/"],
  ["POST", "ext-login/"],
  ["POST", "logout/"],
  ["POST", ""],
  ["POST", "m/publish/"],
  ["POST", "m/folders/"],
  ["POST", "m/layers/"],
  ["PATCH", "m/layers/l/"],
  ["POST", "m/layers/l/structure/"],
  ["PUT", "m/layers/l/constraints/"],
  ["POST", "m/layers/l/objects/"],
  ["PUT", "m/layers/l/objects/1/geom/"],
  ["POST", "m/layers/l/objects/1/files/"],
  ["POST", "m/layers/l/filter/"],
  ["POST", "m/layers/l/import/"],
  ["PUT", "m/search/settings/"],
] as const;

/** Of a stranger; the answer is short, whatever was sent. */
async function send(method: string, path: string, type: string, body: string) {
  const answer = await fetch(`${base}/${path}`, { method, body, headers: { "content-type": type } });
  const text = await answer.text();
  return { status: answer.status, bytes: text.length, text: text.slice(0, 200) };
}

/**
 * Sends the body to all that takes one, and meanwhile asks as another user.
 * @returns how long the event loop, which these clients share, was held at most, in ms of processors: what other programs take
 *   meanwhile does not count
 */
async function attack(type: string, body: string, statuses: readonly number[]): Promise<number> {
  let held = 0;
  let before = process.cpuUsage();
  const watch = setInterval(() => {
    held = Math.max(held, msOf(process.cpuUsage(before)));
    before = process.cpuUsage();
  }, 5);
  for (const [method, path] of writers) {
    const [hostile, other] = await Promise.all([
      send(method, path, type, body),
      server.api("GET", "m/layers/l/structure/", { token }),
    ]);
    t.ok(statuses.includes(hostile.status), `${method} ${path}: ${hostile.status} ${hostile.text}`);
    t.ok(hostile.bytes < 10_000, `${method} ${path} is answered by ${hostile.bytes} bytes`);
    t.equal(other.status, 200);
  }
  clearInterval(watch);
  return held;
}

const msOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

const members = `{${Array.from({ length: 1_200_000 }, (_, i) => `"k${i}":1`).join(",")}}`;

/** What it takes, in ms of processors, to read a million names: a second or more. Nobody may hold the loop for so long. */
function readingMs(): number {
  const begun = process.cpuUsage();
  JSON.parse(members);
  return msOf(process.cpuUsage(begun));
}

// Where the caller must be signed in and no token is seen, 401 comes before the size is known.
const refused = [400, 401, 403, 413, 500];

t.test("a million members, names or pairs are refused unread", async (t) => {
  const names = `fields=${"name,".repeat(2_000_000)}`;
  const pairs = Array.from({ length: 1_000_000 }, (_, i) => `k${i}=1`).join("&");
  const held = [
    await attack("application/json", members, refused),
    await attack("application/x-www-form-urlencoded", names, refused),
    await attack("application/x-www-form-urlencoded", pairs, refused),
  ];
  // This client's own work is in the same loop, so it is not 20 ms.
  const longest = readingMs() / 2;
  for (const ms of held) t.ok(ms < longest, `the event loop was held for ${ms} ms of ${longest}`);
});

t.test("what fits the largest limit of strangers costs little, too", async (t) => {
  const names = `fields=${"name,".repeat(200_000)}`;
  const fields = `{"fields":"*",${Array.from({ length: 80_000 }, (_, i) => `"k${i}":1`).join(",")}}`;
  const held = [
    await attack("application/x-www-form-urlencoded", names, refused),
    await attack("application/json", fields, refused),
  ];
  const longest = readingMs() / 2;
  for (const ms of held) t.ok(ms < longest, `the event loop was held for ${ms} ms of ${longest}`);
});

t.test("files of strangers never touch the disk, wherever they are sent", async (t) => {
  const folder = join(server.nodes[0]!.services.config.dataDir, "tmp");
  await mkdir(folder, { recursive: true });
  const written = new Set<string>();
  const watcher = watch(folder, (_event, name) => void written.add(String(name)));
  t.teardown(() => watcher.close());
  const file = (name: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"; filename="a.geojson"\r\n\r\n${"x".repeat(3_000_000)}\r\n`;
  const late = `--b\r\nContent-Disposition: form-data; name="token"\r\n\r\n${token}\r\n`;
  const multipart = "multipart/form-data; boundary=b";
  await attack(multipart, `${file("file")}--b--\r\n`, refused);
  await attack(multipart, `${file("other")}--b--\r\n`, refused);
  // A token behind the file comes too late.
  await attack(multipart, `${file("file")}${late}--b--\r\n`, refused);
  t.same([...written], []);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.match(metrics, /^mapwright_receiving_files_bytes 0$/m);
  t.match(metrics, /^mapwright_receiving_memory_bytes 0$/m);
});
