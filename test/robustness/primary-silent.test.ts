import t from "tap";
import { Clusters } from "../support/clusters.js";
import { freshDatabase } from "../support/database.js";
import { DatabaseLink } from "../support/database-link.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer, waitFor } from "../support/server.js";

/** The machine of the primary is gone without a word: its connections stay open, and nothing comes over them. */

t.setTimeout(120_000);

const clusters = new Clusters();
t.teardown(() => clusters.stop());
const first = await clusters.createWithSchema();
const second = await (await first.baseBackup({ standby: true })).start();
const single = `postgresql://mapwright@127.0.0.1:${first.port}/mapwright`;
const link = await DatabaseLink.to(single);
const both = `postgresql://mapwright@127.0.0.1:${new URL(link.url).port},127.0.0.1:${second.port}/mapwright`;
const server = await startServer({ databaseUrl: single, config: { databaseUrl: both } });
t.teardown(async () => {
  await server.stop();
  await link.close();
});
const here = { lon: 0.5, lat: 0.5, z: 6 };
const there = { lon: 40.5, lat: 40.5, z: 6 };
/** Less than a node waits for a statement. */
const answerMs = 20_000;
const painted = async (place: typeof here) => {
  const answer = await fetch(tileUrl(server, "m", place, "&base=0"), {
    signal: AbortSignal.timeout(answerMs),
  });
  const body = await answer.arrayBuffer();
  return answer.status === 200 ? (await picture(body)).painted > 0 : undefined;
};

t.test("cached tiles go on, and edits when a standby is promoted", async (t) => {
  await makeMap(server, "m");
  await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #ff0000; }");
  const token = await server.token("editor");
  const written = await addObject(server, "a", square(0, 0, 1), { map: "m" });
  t.equal(await painted(here), true);
  t.equal(await painted(there), false);
  await waitFor(
    async () => (await second.sql("mapwright", "select from mapwright.node where code = 'a'")).length === 1,
  );
  const { changes } = server.nodes[0]!.services;
  // It knows the last word of changes that somebody has missed.
  await waitFor(() => changes.trusted);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  link.swallow();
  await waitFor(() => !changes.trusted);
  t.equal(await painted(here), true, "it is shown from memory");
  t.equal((await fetch(`${server.url}/health/ready`)).status, 503);
  await second.sql("postgres", "select pg_promote()");
  const promoted = performance.now();
  const edit = async () => {
    const body = { fields: {}, geom: square(40, 40, 1) };
    const { status } = await server.api("POST", "m/layers/a/objects/", { token, body });
    t.ok([200, 503].includes(status), String(status));
    return status === 200;
  };
  await waitFor(edit);
  t.comment(`an edit was taken ${Math.round(performance.now() - promoted)} ms after the promotion`);
  t.equal(await painted(there), true);
  t.equal(await painted(here), true);
  t.equal((await server.api("GET", `m/layers/a/objects/${written}/`)).status, 200);
});

t.test("where it is the only one, what is cached is shown without waiting for it each time", async (t) => {
  const database = await freshDatabase();
  const alone = await DatabaseLink.to(database.url);
  const node = await startServer({ databaseUrl: database.url, config: { databaseUrl: alone.url } });
  t.teardown(async () => {
    alone.restore();
    await node.stop();
    await alone.close();
    await database.drop();
  });
  await makeMap(node, "m");
  await makeStyledLayer(node, "m", "a", "#a { polygon-fill: #ff0000; }");
  await addObject(node, "a", square(0, 0, 1), { map: "m" });
  const read = async () => {
    const [tile, list] = [tileUrl(node, "m", here, "&base=0"), `${node.url}/api/2.8/p/m/layers/`];
    const signal = AbortSignal.timeout(answerMs);
    return [(await fetch(tile, { signal })).status, (await fetch(list, { signal })).status];
  };
  t.same(await read(), [200, 200]);
  const { changes } = node.nodes[0]!.services;
  await waitFor(() => changes.trusted);
  // As above.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  alone.swallow();
  await waitFor(() => !changes.trusted);
  for (let round = 0; round < 3; round++) t.same(await read(), [200, 200]);
});
