import t from "tap";
import { findColumn } from "../../src/features/column-sql.js";
import { labelZoomOf } from "../../src/features/label-zoom.js";
import { layerTable } from "../../src/features/sql.js";
import { makeFeatures } from "./support.js";

/** The zoom of labels of layers that are not counted. */

const { db, table, layer, physical, close } = await makeFeatures([{ code: "name", type: "string" }]);
t.teardown(close);
const column = findColumn(layer, "name")!;
const languages = { own: "ru", main: "ru" };
const { signal } = new AbortController();

t.test("of very many objects, too, those that have a text are estimated", async (t) => {
  const zoomOf = () => labelZoomOf(db, layer, { column, languages }, signal);
  await db.execute(
    `insert into ${table} (geom, ${physical("name")})
     select st_setsrid(st_makepoint(n % 200 * 0.1, n / 200 * 0.1), 4326), 'a' || n from generate_series(0, 29999) n`,
  );
  await db.execute(`analyze ${table}`);
  const all = (await zoomOf())!;
  await db.execute(`update ${table} set ${physical("name")} = null where svc_id % 16 > 0`);
  const session = await db.working();
  await session.alone(`vacuum full ${table}`);
  await session.end();
  await db.execute(`analyze ${table}`);
  t.equal(await zoomOf(), all - 2);
});

t.test(
  "labels of a view whose objects take long to count begin where those of dense layers do",
  async (t) => {
    const view = { id: layer.id + 1_000, type: "virtual" } as const;
    const zoomOf = () => labelZoomOf(db, view, { column, languages }, signal);
    const name = layerTable(view.id);
    const select = `select svc_id, geom, geom_3857, ${physical("name")} from ${table}`;
    await db.execute(`create view ${name} as ${select} where svc_id % 32 = 0`);
    const zoom = (await zoomOf())!;
    t.ok(zoom > 0 && zoom < 14, `${zoom}, as they are counted`);
    await db.execute(`create or replace view ${name} as ${select} where pg_sleep(0.01) is not null`);
    t.equal(await zoomOf(), 14);
  },
);
