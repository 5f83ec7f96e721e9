import pg from "pg";
import t from "tap";
import { migrate } from "../../src/storage/migrate.js";
import { freshDatabase } from "../support/database.js";
import { makeLayer } from "../support/layers.js";

/** Objects beyond ±180° of installations that had drawn them elsewhere. */

const database = await freshDatabase({ before: "024" });
t.teardown(() => database.drop());

t.test("they get their place when the server is upgraded, and others are not written", async (t) => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  t.teardown(() => client.end());
  await client.query("set search_path = mapwright, public");
  const [far, near] = [await makeLayer(client), await makeLayer(client)];
  const insert = (table: string, west: number) =>
    client.query(
      `insert into ${table} (geom) values (st_makeenvelope($1::float8, 0, $1::float8 + 20, 10, 4326)), (null)`,
      [west],
    );
  await insert(far.table, 170);
  await insert(far.table, 10);
  await insert(near.table, 160);
  const versions = async () =>
    (await client.query("select version from layer where id > 0 order by id")).rows.map((row) => row.version);
  const before = await versions();
  await migrate(client);
  const { rows } = await client.query(
    `select round(st_xmin(geom_3857) / 111319.490793) as west, round(st_xmax(geom_3857) / 111319.490793) as east from ${far.table}`,
  );
  t.same(
    rows.map(({ west, east }) => [west, east]).toSorted(),
    [
      [10, 30],
      [170, 190],
      [null, null],
      [null, null],
    ].toSorted(),
  );
  const flags = await client.query("select crosses_antimeridian from layer where id > 0 order by id");
  t.same(
    flags.rows.map((row) => row.crosses_antimeridian),
    [true, false],
  );
  const after = await versions();
  t.not(after[0], before[0]);
  t.equal(after[1], before[1]);
});
