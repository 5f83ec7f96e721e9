import t from "tap";
import { loadConfig } from "../../src/config.js";
import type { MetatileRequest } from "../../src/hosts/messages.js";
import { startRenderHost } from "../../src/hosts/render.js";
import { png } from "../../src/tiles/formats.js";
import { asSuperuser, freshDatabase, settingsOf } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { picture } from "../support/pictures.js";
import { waitFor } from "../support/server.js";

/** Maps of hundreds of layers in the render host: what they take of the database, and of others' time. */

const database = await freshDatabase({ bare: true });
const config = loadConfig({ environment: {}, flags: { ...settingsOf(database) } });
const host = startRenderHost(config, quietLog);
t.teardown(async () => {
  await host.stop();
  await database.drop();
});
await host.whenReady();

/** A map whose layers are as many points along the equator, from the left to the right. */
function wide(name: string, layers: number, changed = 0): MetatileRequest {
  const parameters = (index: number) => ({
    type: "postgis",
    table: `(select ${index + changed} as svc_id, st_setsrid(st_point(${(index / layers - 0.5) * 4e7}, 0), 3857) as geom) as q`,
    geometry_field: "geom",
    key_field: "svc_id",
    srid: "3857",
    extent: "-20037508,-20037508,20037508,20037508",
    connect_timeout: "5",
  });
  const one = (index: number) =>
    `<Layer name="l${index}" srs="epsg:3857"><StyleName>s</StyleName><Datasource>${Object.entries(
      parameters(index),
    )
      .map(([key, value]) => `<Parameter name="${key}">${value}</Parameter>`)
      .join("")}</Datasource></Layer>`;
  const xml = `<Map srs="epsg:3857"><Style name="s"><Rule><MarkersSymbolizer width="4" fill="#ff0000" allow-overlap="true"/></Rule></Style>${Array.from({ length: layers }, (_, index) => one(index)).join("")}</Map>`;
  return {
    parts: [{ kind: "map", map: { digest: `${name} ${layers} ${changed}`, xml: [{ text: xml }] } }],
    origin: { z: 0, x: 0, y: 0 },
    count: 1,
    scale: 1,
    encoding: png.mapnikEncodings[0],
    bufferPixels: 16,
  };
}
const draw = async (request: MetatileRequest, owner = "p1") => {
  const { tiles } = await host.call("metatile", request, { deadlineMs: 25_000, owner });
  return picture(tiles[0]!.bytes);
};
/** Connections that were opened to the database so far, and those that are open. */
const connections = () =>
  asSuperuser("postgres", async (client) => {
    const name = new URL(database.url).pathname.slice(1);
    const { rows } = await client.query(
      `select (select sessions from pg_stat_database where datname = $1)::int as opened,
         (select count(*) from pg_stat_activity where datname = $1)::int as held`,
      [name],
    );
    return rows[0] as { opened: number; held: number };
  });

t.test("a map of 400 layers is loaded with few connections", async (t) => {
  await draw(wide("first", 1));
  const before = await connections();
  const image = await draw(wide("wide", 400));
  t.ok(image.painted > 200, "all of it is drawn");
  // PostgreSQL counts a connection at last when it ends.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const { opened, held } = await connections();
  t.ok(opened - before.opened < 20, `${opened - before.opened} were opened`);
  t.ok(held <= 2 * config.render.concurrency + 2, `${held} are held`);
});

t.test("while a wide map is loaded, another map is drawn", async (t) => {
  const order: string[] = [];
  const wides = Array.from({ length: 3 }, (_, index) =>
    draw(wide(`new ${index}`, 400, 1_000 * (index + 1)), "p1").then(() => order.push("wide")),
  );
  await waitFor(() => host.counts().running === 3);
  await draw(wide("narrow", 2, 7), "p2").then(() => order.push("narrow"));
  await Promise.all(wides);
  t.equal(order[0], "narrow", order.join(", "));
});

t.test("a host that is killed while it loads is followed by one that loads", async (t) => {
  const work = draw(wide("killed", 400, 50_000));
  await waitFor(() => host.counts().running === 1);
  await new Promise((resolve) => setTimeout(resolve, 60));
  process.kill(host.pid!, "SIGKILL");
  t.ok((await work).painted > 200);
});

t.test("layers that are left out are not drawn, and come back in their place", async (t) => {
  const request = wide("left out", 9, 90_000);
  const [part] = request.parts;
  const drawn = async (...without: string[]) => {
    const image = await draw({ ...request, parts: [{ ...part!, without } as typeof part & object] });
    return Array.from({ length: 9 }, (_, index) => image.at(Math.round((index / 9) * 256), 128)[3]! > 0);
  };
  const all = Array.from({ length: 9 }, () => true);
  const except = (...left: number[]) => all.map((_, index) => !left.includes(index));
  t.same((await drawn("l3", "l5")).slice(1), except(3, 5).slice(1));
  t.same((await drawn()).slice(1), all.slice(1));
  t.same((await drawn("l8")).slice(1), except(8).slice(1));
});
