import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import { publicCaller } from "../../src/catalog/state.js";
import type { LayerVersion } from "../../src/changes/layer-version.js";
import { busy, type Failure, forbidden, unauthenticated } from "../../src/errors.js";
import { MapEvents, type MapEventsOptions } from "../../src/tiles/map-events.js";
import { Hours } from "../support/hours.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** Open maps hear of changes, from each node. */

const server = await startServer({ nodes: 2 });
t.teardown(() => server.stop());
const { api, sql } = server;
const token = await server.token("editor");
await makeMap(server, "m");
const layer = await makeStyledLayer(server, "m", "a", "#a { polygon-fill: #f00; }");
const object = await addObject(server, "a", square(10, 50, 1), { map: "m" });

interface Event {
  readonly event: string;
  readonly data: { layers: number[]; areas: number[][] | null };
  readonly id: string;
}

/** A client that reads events until `end`. */
async function listen(node = 0, headers: Record<string, string> = {}, map = "m", query = "") {
  const controller = new AbortController();
  const answer = await fetch(`${server.urls[node]}/tms/p/${map}/changes/${query}`, {
    headers,
    signal: controller.signal,
  });
  const events: Event[] = [];
  const heard = { text: "", ended: false };
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) {
      heard.text += decoder.decode(chunk as Uint8Array, { stream: true });
      const parts = heard.text.split("\n\n");
      heard.text = parts.pop()!;
      for (const part of parts) {
        const fields = Object.fromEntries(part.split("\n").map((line) => line.split(/: ?(.*)/s).slice(0, 2)));
        events.push({ event: fields.event, id: fields.id, data: JSON.parse(fields.data ?? "null") });
      }
    }
  })()
    .catch(() => undefined)
    .finally(() => {
      heard.ended = true;
    });
  t.teardown(() => controller.abort());
  const changes = () => events.filter(({ event }) => event === "change");
  return { answer, events, changes, heard, end: () => controller.abort(), reading };
}

const move = (lon: number, node = 0) =>
  api("PUT", `m/layers/a/objects/${object}/`, { token, node, body: { geom: square(lon, 50, 1) } });

t.test("an edit is heard on each node with the areas that changed", async (t) => {
  const clients = [await listen(0), await listen(1)];
  for (const { answer, events } of clients) {
    t.equal(answer.status, 200);
    t.equal(answer.headers.get("content-type"), "text/event-stream; charset=utf-8");
    t.equal(answer.headers.get("cache-control"), "no-store");
    await waitFor(() => events.length === 1);
    t.match(events[0]!.id, /:\d+$/, "the first says where it begins");
  }
  t.equal((await move(20)).status, 200);
  for (const { changes } of clients) {
    await waitFor(() => changes().length === 1);
    const { layers, areas } = changes()[0]!.data;
    t.same(layers, [layer.id]);
    const inside = (lon: number) => areas!.some(([west, , east]) => west! <= lon && lon <= east!);
    t.ok(inside(10.5) && inside(20.5), "where it was and where it is");
    t.notOk(inside(15) && areas!.length > 1);
    // A tile that is asked for now shows it.
    const tile = await fetch(tileUrl(server, "m", { lon: 20.5, lat: 50.5, z: 6 }));
    t.equal(tile.status, 200);
  }
  await sql.query(`update layers.l${layer.id} set geom = st_translate(geom, 1, 0)`);
  for (const { changes } of clients) await waitFor(() => changes().length === 2);
  for (const { end, reading } of clients) {
    end();
    await reading;
  }
  await waitFor(() => server.nodes.every(({ services }) => services.mapEvents.listeners === 0));
});

t.test("who comes back hears what he has missed", async (t) => {
  const first = await listen();
  await waitFor(() => first.events.length === 1);
  const { id } = first.events[0]!;
  first.end();
  await first.reading;
  await move(30, 1);
  const again = await listen(1, { "last-event-id": id });
  await waitFor(() => again.changes().length === 1);
  t.same(again.changes()[0]!.data.layers, [layer.id]);
  t.ok(again.changes()[0]!.data.areas!.some(([west, , east]) => west! <= 30.5 && 30.5 <= east!));
  const { revision } = (await sql.query("select revision from map where code = 'm'")).rows[0];
  const olderMap = id
    .split(":")
    .with(2, String(revision - 1))
    .join(":");
  for (const unknown of ["x", "1:2:3:4", olderMap, `other:${id.split(":").slice(1).join(":")}`]) {
    const lost = await listen(0, { "last-event-id": unknown });
    await waitFor(() => lost.changes().length === 1);
    t.equal(lost.changes()[0]!.data.areas, null, `${unknown}: everything may have changed`);
    await waitFor(() => lost.events.some(({ event }) => event === "map"));
    lost.end();
  }
  again.end();
});

t.test("a page that asked for its tiles before it listened hears what changed meanwhile", async (t) => {
  await sql.query("update layer_change set changed_at = changed_at - interval '1 hour'");
  await move(40, 1);
  const page = await listen(0, {}, "m", "?recent=5");
  await waitFor(() => page.changes().length === 1);
  t.same(page.changes()[0]!.data.layers, [layer.id]);
  t.ok(page.changes()[0]!.data.areas!.some(([west, , east]) => west! <= 40.5 && 40.5 <= east!));
  t.ok(page.changes()[0]!.data.areas!.every(([west]) => west! < 41));
  await sql.query("update layer_change set changed_at = changed_at - interval '1 hour'");
  const later = await listen(0, {}, "m", "?recent=5");
  await waitFor(() => later.events.length === 1);
  t.same(later.changes(), [], "what was before it is not told");
  for (const refused of ["0", "601", "x"])
    t.equal((await listen(0, {}, "m", `?recent=${refused}`)).answer.status, 400);
  for (const { end } of [page, later]) end();
});

t.test("a page hears that the map has changed since its layers were read", async (t) => {
  await sql.query("update layer_change set changed_at = changed_at - interval '1 hour'");
  const read = await fetch(`${server.url}/api/2.8/p/m/layers/?type=publish&returnBbox=1`);
  const state = read.headers.get("x-map-state")!;
  t.match(state, /^[^:]+:\d+:\d+$/);
  const kept = (await fetch(`${server.url}/api/2.8/p/m/layers/`)).headers.get("x-map-state");
  t.equal(kept, state, "of all forms of the tree");
  const query = `?recent=5&state=${state}`;
  const same = await listen(0, {}, "m", query);
  await waitFor(() => same.events.length === 1);
  t.same(
    same.events.map(({ event }) => event),
    [undefined],
    "nothing has changed",
  );
  const css_style = "#a { polygon-fill: #00f; }";
  await api("PATCH", "m/layers/a/", { token, node: 1, body: { parent_id: 0, css_style } });
  await waitFor(() => same.events.some(({ event }) => event === "map"));
  for (const asked of [query, `?state=${state}`, "?state=x"]) {
    const late = await listen(0, {}, "m", asked);
    await waitFor(() => late.events.length === 2);
    t.same(
      late.events.map(({ event }) => event),
      ["map", undefined],
      `${asked}: that and nothing else`,
    );
    late.end();
  }
  same.end();
});

t.test("a map that changes before it is watched is told of", async (t) => {
  const { mapEvents, catalog } = server.nodes[0]!.services;
  const leaving = new AbortController();
  let looks = 0;
  const access = async () => {
    const map = await catalog.map("p", "m");
    // As if another node had changed it before this one hears of its changes.
    return { map: looks++ > 0 ? { ...map, revision: map.revision + 1 } : map, caller: publicCaller };
  };
  const listening = mapEvents.listen({
    access,
    client: "test",
    lastEventId: undefined,
    signal: leaving.signal,
  });
  t.notMatch((await listening.next()).value, "event: map");
  t.match((await listening.next()).value, /^event: map\n/);
  leaving.abort();
  await listening.return?.();
});

t.test("of a few changes each area is told, of many one for each layer", async (t) => {
  const other = await makeStyledLayer(server, "m", "other", "#other { polygon-fill: #00f; }");
  const areasOf = async (count: number) => {
    await sql.query("delete from layer_change");
    await sql.query(
      `insert into layer_change (layer_id, version, previous, area)
       select $1::bigint, n, n - 1, array(select 10000::float8 * v from unnest(array[n, 2 * n, n + 1, 2 * n + 1]) v)
       from generate_series(1, $2::int) n
       union all select $3::bigint, 1, 0, '{0,0,10000,10000,20000,20000,30000,30000}'
       union all select $3::bigint, 2, 1, '{}'`,
      [layer.id, count, other.id],
    );
    const page = await listen(0, {}, "m", "?recent=60");
    await waitFor(() => page.changes().length === 1);
    page.end();
    const { layers, areas } = page.changes()[0]!.data;
    t.same(layers.toSorted(), [layer.id, other.id].toSorted());
    return areas?.map((area) => area.map((degrees) => Math.round((degrees * 20037508.34) / 180 / 10_000)));
  };
  t.same((await areasOf(2))?.map(([west, , east]) => [west, east]).toSorted(), [
    [0, 1],
    [1, 2],
    [2, 3],
    [2, 3],
  ]);
  t.same((await areasOf(100))?.map(([west, , east]) => [west, east]).toSorted(), [
    [0, 3],
    [1, 101],
  ]);
  t.equal(await areasOf(1_001), undefined, "of too many that it is everywhere");
  await sql.query("delete from layer_change");
});

t.test("many that ask at once for what changed cost the database no more than two looks", async (t) => {
  await move(60);
  const looks = async () => {
    await sql.query("select pg_stat_clear_snapshot()");
    const { rows } = await sql.query(
      `select from pg_stat_activity where application_name = 'mapwright' and state = 'active'
       and query like '%from layer_change%'`,
    );
    return rows.length;
  };
  await sql.query("begin; lock table layer_change in access exclusive mode");
  const asked = Array.from({ length: 30 }, () => listen(0, {}, "m", "?recent=7"));
  try {
    await waitFor(async () => (await looks()) > 0);
    await pause(300);
    t.equal(await looks(), 1);
  } finally {
    await sql.query("rollback");
  }
  for (const { changes, events, end } of await Promise.all(asked)) {
    await waitFor(() => events.length === 1);
    t.same(changes()[0]?.data.layers, [layer.id]);
    end();
  }
});

t.test("changes of the map are told, and nobody hears of what he may not read", async (t) => {
  await makeMap(server, "own");
  const hidden = await makeStyledLayer(server, "own", "b", "#b { polygon-fill: #00f; }");
  await sql.query("update map set has_publication = false where code = 'own'");
  await server.nodes[0]!.services.changes.propagate();
  t.equal((await listen(0, {}, "own")).answer.status, 403);
  const user = await listen(0, { "x-token": token }, "own");
  t.equal(user.answer.headers.get("cache-control"), "private, no-store");
  const stranger = await listen(0, {}, "m");
  await waitFor(() => user.events.length === 1 && stranger.events.length === 1);
  await addObject(server, "b", square(0, 0, 1), { map: "own", node: 1 });
  await waitFor(() => user.changes().length === 1);
  const renamed = await api("PATCH", "m/layers/a/", { token, body: { parent_id: 0, name: "new" } });
  t.equal(renamed.status, 200);
  await waitFor(() => stranger.events.some(({ event }) => event === "map"));
  const told = [...stranger.changes()].flatMap(({ data }) => data.layers);
  t.notOk(told.includes(hidden.id), `of the other map: ${told}`);
  await sql.query("update map set has_publication = false where code = 'm'");
  await waitFor(() => stranger.heard.ended);
  await sql.query("update map set has_publication = true where code = 'm'");
  user.end();
});

t.test("a change of the map that cannot be looked at is told later", async (t) => {
  const { mapEvents, catalog } = server.nodes[0]!.services;
  const leaving = new AbortController();
  const refusals = [busy("now"), new Error("The database is away.")];
  let looks = 0;
  const access = async () => {
    const refusal = looks++ > 0 ? refusals.pop() : undefined;
    if (refusal) throw refusal;
    return { map: await catalog.map("p", "m"), caller: publicCaller };
  };
  const events: string[] = [];
  const reading = (async () => {
    const listening = { access, client: "test", lastEventId: undefined, signal: leaving.signal };
    for await (const text of mapEvents.listen(listening)) events.push(text);
  })();
  await waitFor(() => events.length === 1);
  const before = events.map((text) => /^id: (.*)$/m.exec(text)![1]!.split(":")[2]);
  const renamed = await api("PATCH", "m/layers/a/", { token, body: { parent_id: 0, name: "newer" } });
  t.equal(renamed.status, 200);
  await waitFor(() => events.some((text) => text.startsWith("event: map\n")));
  t.equal(refusals.length, 0);
  const told = events.find((text) => text.startsWith("event: map\n"))!;
  t.not(/^id: (.*)$/m.exec(told)![1]!.split(":")[2], before[0], "it names the new state");
  leaving.abort();
  await reading;
});

t.test("what changes after the right to hear of it was withdrawn is not told", async (t) => {
  const { mapEvents, catalog } = server.nodes[0]!.services;
  const leaving = new AbortController();
  let refusal: Failure | undefined;
  const access = async () => {
    if (refusal) throw refusal;
    return { map: await catalog.map("p", "m"), caller: publicCaller };
  };
  const events: string[] = [];
  const reading = (async () => {
    const listening = { access, client: "test", lastEventId: undefined, signal: leaving.signal };
    for await (const text of mapEvents.listen(listening)) events.push(text);
  })();
  await waitFor(() => events.length === 1);
  const own = (mapEvents as unknown as { options: MapEventsOptions }).options.watchers;
  const changed = (area: number[]) => own.layerChanged({ id: layer.id } as LayerVersion, area);
  changed([1, 1, 2, 2]);
  for (let times = 0; times < 20; times++) await Promise.resolve();
  // While the first waits for its turn to be told.
  refusal = forbidden();
  own.mapChanged(undefined);
  changed([3e6, 3e6, 3e6, 3e6]);
  await reading;
  t.notOk(
    events.some((text) => text.startsWith("event: change")),
    events.join(""),
  );
});

t.test(
  "whoever hears of one change after the other is not heard of for ever after his session",
  async (t) => {
    const { mapEvents, catalog } = server.nodes[0]!.services;
    const { options } = mapEvents as unknown as { options: MapEventsOptions };
    const hours = new Hours();
    const events = new MapEvents({ ...options, clock: hours });
    let looks = 0;
    let hasEnded = false;
    const access = async () => {
      looks++;
      if (hasEnded) throw unauthenticated();
      return { map: await catalog.map("p", "m"), caller: publicCaller };
    };
    const { signal } = new AbortController();
    const listening = events.listen({ access, client: "test", lastEventId: undefined, signal });
    await listening.next();
    const heard = async (): Promise<string> => {
      const next = listening.next();
      // Between two changes there is a pause, and less time than until it is silent.
      await hours.pass(5_000);
      await hours.turn();
      options.watchers.layerChanged({ id: layer.id } as LayerVersion, [1, 1, 2, 2]);
      return (await next).value ?? "";
    };
    for (let times = 0; times < 8; times++) t.match(await heard(), /^event: change/);
    t.ok(looks > 1, "he is looked at while he hears of changes");
    hasEnded = true;
    let last = "";
    for (let times = 0; times < 8 && !last.startsWith("event: session"); times++) last = await heard();
    t.match(last, /^event: session/);
    await listening.return?.();
  },
);

t.test("a change of objects without a place is heard, in no area", async (t) => {
  const client = await listen();
  await waitFor(() => client.events.length === 1);
  const body = { fields: {}, geom: null };
  t.equal((await api("POST", "m/layers/a/objects/", { token, body })).status, 200);
  await waitFor(() => client.changes().length === 1);
  t.match(client.changes()[0]!.data, { layers: [layer.id], areas: [] });
  client.end();
});

t.test("a quiet connection stays open", async (t) => {
  const client = await listen();
  await waitFor(() => client.events.length >= 3);
  t.notOk(client.heard.ended);
  await move(40);
  await waitFor(() => client.changes().length === 1);
  client.end();
});
