import t from "tap";
import { contractBox, layersBoxes } from "../../src/features/bbox.js";
import { countObjects } from "../../src/features/count.js";
import { makeFeatures } from "./support.js";

const { db, table, layer, close } = await makeFeatures([]);
t.teardown(close);
const boxed = { id: layer.id, type: "layer", raster: null } as const;
const boxIn = async (srid: 4326 | 3857) => {
  const box = (await layersBoxes(db, [boxed])).get(layer.id);
  return box && contractBox(box, srid);
};
const signal = new AbortController().signal;

t.test("a layer's box is exact, and follows what is added and deleted", async (t) => {
  t.equal(await boxIn(4326), null, "no objects");
  await db.execute(`insert into ${table} (geom) values (null)`);
  t.equal(await boxIn(4326), null, "no geometry");
  await db.execute(
    `insert into ${table} (geom) select st_setsrid(st_makepoint(i * 0.1, i * 0.01), 4326) from generate_series(1, 3000) g(n), lateral (select n / 10.0 as i) x`,
  );
  await db.execute(
    `insert into ${table} (geom) values ('SRID=4326;LINESTRING(-0.1 -0.3, -77.123456789012 12, 3 33.300000000000004)')`,
  );
  const box = { sw: [-0.3, -77.123456789012], ne: [33.300000000000004, 30] };
  t.same(await boxIn(4326), box);
  await db.execute(`insert into ${table} (svc_id, geom) values (99999, 'SRID=4326;POINT(170 80)')`);
  t.same(await boxIn(4326), { ...box, ne: [80, 170] });
  await db.execute(`delete from ${table} where svc_id = 99999`);
  t.same(await boxIn(4326), box, "after a deletion at the edge");
  await db.execute(`delete from ${table}`);
  t.equal(await boxIn(4326), null, "after everything was deleted");
});

t.test("a box in metres is the degrees' box projected, cut off at the poles", async (t) => {
  await db.execute(`insert into ${table} (geom) values ('SRID=4326;LINESTRING(-10 -90, 20 45)')`);
  const [row] = await db.query<{ y: number; x: number; edge: number }>(
    `select st_y(st_transform('SRID=4326;POINT(20 45)'::geometry, 3857)) as y,
       st_x(st_transform('SRID=4326;POINT(20 45)'::geometry, 3857)) as x,
       st_y(st_transform('SRID=4326;POINT(20 -85.06)'::geometry, 3857)) as edge`,
  );
  const box = await boxIn(3857);
  t.ok(box && row);
  t.ok(Math.abs((box?.ne[0] ?? 0) - (row?.y ?? 1)) < 1e-6);
  t.ok(Math.abs((box?.ne[1] ?? 0) - (row?.x ?? 1)) < 1e-6);
  t.ok(Math.abs((box?.sw[0] ?? 0) - (row?.edge ?? 1)) < 1e-6);
  t.same(await layersBoxes(db, []), new Map());
});

t.test("the count is exact when small or asked to be, and an estimate otherwise", async (t) => {
  await db.execute(`delete from ${table}`);
  t.equal(await countObjects(db, layer.id, { precise: false, signal }), 0);
  await db.execute(`insert into ${table} (geom) select null from generate_series(1, 30000)`);
  t.equal(await countObjects(db, layer.id, { precise: true, signal }), 30000);
  t.equal(await countObjects(db, layer.id, { precise: false, signal }), 30000, "never analysed");
  await db.execute(`analyze ${table}`);
  await db.execute(`delete from ${table} where svc_id % 3 = 0`);
  t.equal(await countObjects(db, layer.id, { precise: true, signal }), 20000);
  const estimate = await countObjects(db, layer.id, { precise: false, signal });
  t.ok(estimate >= 20000 && estimate <= 31000, `${estimate}`);
});
