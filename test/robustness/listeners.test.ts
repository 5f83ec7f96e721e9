import { setImmediate } from "node:timers/promises";
import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import { systemClock } from "../../src/clock.js";
import { Slices } from "../../src/queues/slices.js";
import { MapEvents, type MapEventsOptions } from "../../src/tiles/map-events.js";
import { failure } from "../support/failure.js";
import { addObject, makeMap, makeStyledLayer, square } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** Some clients have many maps open that hear of changes; others hear of theirs, and are served. */

const server = await startServer();
t.teardown(() => server.stop());
const { api } = server;
const { services } = server.nodes[0]!;
const token = await server.token("editor");
await makeMap(server, "m");
await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const object = await addObject(server, "a", square(10, 50, 1), { map: "m" });
const { options } = services.mapEvents as unknown as { readonly options: MapEventsOptions };
const { watchers } = options;

/** A client that listens until it is ended. */
async function listen(events: MapEvents, client: string) {
  const ending = new AbortController();
  const heard = { changes: 0, ended: false };
  const texts = events.listen({
    client,
    lastEventId: undefined,
    signal: ending.signal,
    access: async () => ({ map: await services.catalog.map("p", "m"), caller: publicCaller }),
  });
  await texts.next();
  const reading = (async () => {
    for await (const text of texts) if (text.startsWith("event: change")) heard.changes++;
    heard.ended = true;
  })();
  t.teardown(() => {
    ending.abort();
    return reading;
  });
  return heard;
}

t.test("clients that listen with all places give some to those with fewer", async (t) => {
  const events = new MapEvents({ ...options, mostListeners: 6, mostOfClient: 4 });
  const first: Awaited<ReturnType<typeof listen>>[] = [];
  for (let i = 0; i < 4; i++) first.push(await listen(events, "one"));
  for (let i = 0; i < 2; i++) await listen(events, "two");
  await t.rejects(listen(events, "one"), failure("busy"), "no more of one client");
  await listen(events, "three");
  await listen(events, "three");
  await waitFor(() => first.filter(({ ended }) => ended).length === 2);
  t.same(
    first.map(({ ended }) => ended),
    [false, false, true, true],
    "its newest ones end",
  );
  t.equal(events.listeners, 6);
  for (const client of ["one", "two", "three"])
    await t.rejects(listen(events, client), failure("busy"), "all have the same");
  await t.resolves(listen(events, "four"), "and yet there is one for somebody new");
  await t.rejects(listen(events, "four"), failure("busy"));
});

t.test("all networks of an IPv6 site together have half of the places", async (t) => {
  const events = new MapEvents({ ...options, mostListeners: 6, mostOfClient: 4 });
  for (let network = 0; network < 3; network++) await listen(events, `2001:db8:7:${network}`);
  await t.rejects(listen(events, "2001:db8:7:3"), failure("busy"));
  await t.resolves(listen(events, "2001:db8:8:3"), "another site");
  await t.resolves(listen(events, "one"));
});

t.test(
  "what those need who listen to the same layers is asked for once, and again of another history",
  async (t) => {
    let epoch = "first";
    let asked = 0;
    const changes: MapEventsOptions["changes"] = {
      get epoch() {
        return epoch;
      },
      track: (ids) => {
        asked++;
        return options.changes.track(ids);
      },
    };
    const events = new MapEvents({ ...options, changes });
    const heard = [await listen(events, "one"), await listen(events, "two")];
    t.equal(asked, 1);
    epoch = "second";
    heard.push(await listen(events, "three"));
    t.equal(asked, 2);
    const body = { geom: square(10, 51, 1) };
    t.equal((await api("PUT", `m/layers/a/objects/${object}/`, { token, body })).status, 200);
    await waitFor(() => heard.every((one) => one.changes > 0));
  },
);

t.test("maps that are opened at once are looked through one after the other", async (t) => {
  // Whatever is done in slices takes the whole of a turn.
  let now = 0;
  const slices = new Slices({ now: () => (now += 1_000), turn: systemClock.turn });
  const events = new MapEvents({ ...options, slices });
  const before = watchers.size;
  let most = 0;
  let isWatching = true;
  const watching = (async () => {
    for (let size = before; isWatching; size = watchers.size) {
      await setImmediate();
      most = Math.max(most, watchers.size - size);
    }
  })();
  await Promise.all(Array.from({ length: 50 }, (_, i) => listen(events, `client ${i % 3}`)));
  isWatching = false;
  await watching;
  t.equal(watchers.size, before + 50);
  t.ok(most <= 2, `${most} in a turn of the event loop`);
});

t.test("an edit is told to many listeners a few at a time", async (t) => {
  const events = new MapEvents(options);
  const all = await Promise.all(Array.from({ length: 300 }, (_, i) => listen(events, `client ${i % 3}`)));
  const told = () => all.reduce((sum, { changes }) => sum + changes, 0);
  let most = 0;
  let isWatching = true;
  const watching = (async () => {
    for (let before = told(); isWatching; ) {
      await setImmediate();
      const now = told();
      most = Math.max(most, now - before);
      before = now;
    }
  })();
  const answer = await api("PUT", `m/layers/a/objects/${object}/`, {
    token,
    body: { geom: square(20, 50, 1) },
  });
  t.equal(answer.status, 200);
  await waitFor(() => told() >= all.length);
  isWatching = false;
  await watching;
  t.ok(all.every(({ changes }) => changes === 1));
  t.ok(most <= 60, `${most} between two turns of the event loop`);
});
