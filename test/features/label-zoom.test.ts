import t from "tap";
import { findColumn } from "../../src/features/column-sql.js";
import { labelZoomOf } from "../../src/features/label-zoom.js";
import { makeFeatures } from "./support.js";

/** The zoom of labels of layers that are not counted. */

const { db, table, layer, physical, close } = await makeFeatures([{ code: "name", type: "string" }]);
t.teardown(close);

t.test("of very many objects, too, those that have a text are estimated", async (t) => {
  const column = findColumn(layer, "name")!;
  const languages = { own: "ru", main: "ru" };
  const zoomOf = () => labelZoomOf(db, layer, { column, languages }, new AbortController().signal);
  await db.execute(
    `insert into ${table} (geom, ${physical("name")})
     select st_setsrid(st_makepoint(n % 200 * 0.1, n / 200 * 0.1), 4326), 'a' || n from generate_series(0, 29999) n`,
  );
  await db.execute(`analyze ${table}`);
  const all = (await zoomOf())!;
  await db.execute(`update ${table} set ${physical("name")} = null where svc_id % 16 > 0`);
  await db.execute(`vacuum full ${table}`);
  await db.execute(`analyze ${table}`);
  t.equal(await zoomOf(), all - 2);
});
