import t from "tap";
import { lockWaiters } from "../support/locks.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Connections to PostgreSQL that end while a tile is drawn. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const { id } = await makeStyledLayer(server, "m", "l", "#l { polygon-fill: #f00; }");
await addObject(server, "l", square(0, 0, 10), { map: "m" });
const place = { lon: 5, lat: 5, z: 5 };

t.test("a tile is drawn again when the renderer's connection was ended", async (t) => {
  const empty = await fetch(tileUrl(server, "m", { ...place, lon: -100 }, "&base=0"));
  t.equal(empty.status, 200, "the renderer is connected");
  await server.sql.query("begin");
  await server.sql.query(`lock table layers.l${id} in access exclusive mode`);
  const tile = fetch(tileUrl(server, "m", place, "&base=0"));
  await lockWaiters(server.sql);
  const ended = await server.sql.query(
    `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a using (pid)
     where not l.granted and a.datname = current_database() and a.usename = current_user`,
  );
  t.ok((ended.rowCount ?? 0) > 0);
  await server.sql.query("rollback");
  const answer = await tile;
  t.equal(answer.status, 200, answer.headers.get("content-type") ?? "");
  t.not(
    Buffer.from(await answer.arrayBuffer()).toString("base64"),
    Buffer.from(await empty.arrayBuffer()).toString("base64"),
  );
});
