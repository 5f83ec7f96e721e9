import t from "tap";
import { loadMap, loadProject } from "../../src/catalog/load.js";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { publicCaller } from "../../src/catalog/state.js";
import { SearchService } from "../../src/search/search-service.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";
import { searchBench } from "./support.js";

const bench = await searchBench();
const service = new SearchService(bench.db, quietLog, 1, 300);
t.teardown(async () => {
  await service.stop();
  await bench.stop();
});
const { sql } = bench;
const sites = await bench.layer("sites", [{ code: "name", type: "string" }]);
await sql.query(`insert into ${sites.table} (${sites.physical.name}) values ('Mill')`);
const map = await bench.map();
const find = (signal = new AbortController().signal) =>
  service.find(map, { phrase: "mill", language: "en", limit: 3, caller: publicCaller, signal });

t.test("more searches than places are told that the server is busy", async (t) => {
  // Holds the first search in its place.
  await sql.query("begin; lock table search_setting in access exclusive mode");
  const first = find();
  await t.rejects(find(), failure("busy"));
  const leaving = new AbortController();
  const left = find(leaving.signal);
  leaving.abort(new Error("the client left"));
  await t.rejects(left, /the client left/);
  await sql.query("commit");
  t.equal((await first).hits.length, 1);
  t.equal((await find()).hits.length, 1, "its place is free again");
});

t.test("who waits gets the place that becomes free", async (t) => {
  await sql.query("begin; lock table search_setting in access exclusive mode");
  const both = [find(), find()];
  await sql.query("commit");
  for (const { hits } of await Promise.all(both)) t.equal(hits.length, 1);
});

t.test("many clients of one project keep nobody waiting who searches in another", async (t) => {
  const patient = new SearchService(bench.db, quietLog, 1, 30_000);
  t.teardown(() => patient.stop());
  await createMap(bench.db, await createProject(bench.db, { code: "q", languages: ["en"] }), { code: "m" });
  const other = (await loadMap(bench.db, (await loadProject(bench.db, "q"))!, "m"))!;
  const order: string[] = [];
  const ask = async (client: string, where: typeof map) => {
    const { signal } = new AbortController();
    const request = { phrase: "mill", language: "en", limit: 3, caller: publicCaller, signal, client };
    await patient.find(where, request);
    order.push(client);
  };
  await sql.query("begin; lock table search_setting in access exclusive mode");
  const searches = Array.from({ length: 8 }, (_, index) => ask(`198.51.100.${index}`, map));
  searches.push(ask("203.0.113.1", other));
  await sql.query("commit");
  await Promise.all(searches);
  t.equal(order.indexOf("203.0.113.1"), 1, "it is the next after the first");
});
