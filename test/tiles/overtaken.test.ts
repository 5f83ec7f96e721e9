import pg from "pg";
import t from "tap";
import { deleteLayer } from "../../src/catalog/layers.js";
import { deleteMap } from "../../src/catalog/maps.js";
import { holdNotifications } from "../robustness/overtaken.support.js";
import { toldCdn } from "../support/cdn.js";
import { lockWaiters } from "../support/locks.js";
import { addObject, makeMap, makeStyledLayer, square, tileUrl } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";

/** Tiles of what is deleted while they are drawn. */

const server = await startServer({ config: toldCdn });
t.teardown(() => server.stop());
const node = server.nodes[0]!;
const { db } = node.services;
/** Somebody who holds a layer's table until it is gone. */
const remover = new pg.Client({
  connectionString: server.database.url,
  options: "-c search_path=mapwright,public",
});
await remover.connect();
t.teardown(() => remover.end());

const here = { lon: 10, lat: 10, z: 6 };
const red = [255, 0, 0, 255];

let maps = 0;
/** A map of two layers, of which the upper one is blue and hides the red one; the lower one is read first. */
async function makeTwo() {
  const code = `m${++maps}`;
  const mapId = await makeMap(server, code);
  const blue = await makeStyledLayer(server, code, "blue", "#blue { polygon-fill: #0000ff; }");
  const below = await makeStyledLayer(server, code, "red", "#red { polygon-fill: #ff0000; }");
  for (const layer of ["blue", "red"]) await addObject(server, layer, square(5, 5, 10), { map: code });
  return { code, mapId, blue: blue.id, below: below.id };
}

/**
 * A tile that is asked for, and whose layer's table goes while Mapnik waits for it.
 * @param remove what takes the layer out of the catalogue
 */
async function askWhile(made: Awaited<ReturnType<typeof makeTwo>>, remove: () => Promise<unknown>) {
  const address = tileUrl(server, made.code, here, "&base=0");
  await remover.query("begin");
  await remover.query(`lock table layers.l${made.blue} in access exclusive mode`);
  const asked = fetch(address);
  await lockWaiters(server.sql);
  await remove();
  const { rows } = await remover.query("select remove_layer($1) as reason", [made.blue]);
  if (rows[0].reason !== null) throw new Error(rows[0].reason);
  await remover.query("commit");
  const answer = await asked;
  return { address, answer, body: Buffer.from(await answer.arrayBuffer()) };
}

for (const hears of [true, false]) {
  const how = hears ? "" : ", which the node has not heard of";

  t.test(`a tile shows what is left when a layer of it is deleted${how}`, async (t) => {
    const made = await makeTwo();
    const release = hears ? undefined : holdNotifications(node);
    t.teardown(() => release?.());
    const { address, answer, body } = await askWhile(made, () => deleteLayer(db, made.mapId, made.blue));
    t.equal(answer.status, 200, body.toString("latin1").slice(0, 200));
    t.same((await picture(body)).at(128, 128), red);
    t.notMatch(answer.headers.get("surrogate-key"), `l${made.blue}`);
    release?.();
    const again = await fetch(address);
    t.same((await picture(await again.arrayBuffer())).at(128, 128), red);
  });

  t.test(`there is no tile of a map that is deleted while it is drawn${how}`, async (t) => {
    const made = await makeTwo();
    const release = hears ? undefined : holdNotifications(node);
    t.teardown(() => release?.());
    const { answer, body } = await askWhile(made, () => deleteMap(db, made.mapId));
    t.equal(answer.status, 404, body.toString("latin1").slice(0, 200));
  });
}

t.test("a layer whose table is away for no reason that is known is named as missing", async (t) => {
  const made = await makeTwo();
  await server.sql.query(`alter table layers.l${made.below} rename to away`);
  const answer = await fetch(tileUrl(server, made.code, here, "&base=0"));
  t.equal(answer.status, 200);
  t.ok(answer.headers.get("x-tile-incomplete"));
  await server.sql.query(`alter table layers.away rename to l${made.below}`);
});
