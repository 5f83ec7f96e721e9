import pg from "pg";
import t from "tap";
import { asSuperuser, freshDatabase } from "../support/database.js";
import { makeLayer, type TestLayer } from "../support/layers.js";
import { randomNumbers } from "../support/random.js";
import { waitFor } from "../support/server.js";

/** Points that are thinned ahead of time stay exact, whatever is edited by whom. */

const database = await freshDatabase();
t.teardown(() => database.drop());
const connect = async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query("set search_path = mapwright, public");
  t.teardown(() => client.end());
  return client;
};
const client = await connect();

const point = "st_setsrid(st_makepoint(7 + random() * 0.2, 50 + random() * 0.2), 4326)";

async function layerOfPoints(spec?: { bits: string; kinds: string; keeps: string }): Promise<TestLayer> {
  const layer = await makeLayer(client);
  await client.query(`alter table ${layer.table} add column c1 int`);
  await client.query(
    `insert into ${layer.table} (geom, c1) select ${point}, n % 5 from generate_series(1, 20500) n`,
  );
  await client.query("select thin_points($1)", [layer.layerId]);
  if (spec) {
    await client.query(
      `insert into thinning (layer_id, number, digest, bits, columns, kinds, keeps, bands)
       values ($1, 2, 'x', $2, '{c1}', array_fill($3::bigint, array[13]), array_fill(0::bigint, array[8]) || array_fill($4::bigint, array[5]), '{}')`,
      [layer.layerId, spec.bits, spec.kinds, spec.keeps],
    );
    await client.query(
      `update thinning set bands = make_thinning('layers', 'l' || layer_id, thinning) where layer_id = $1 and number = 2`,
      [layer.layerId],
    );
  }
  return layer;
}

/** How many rows of the levels are not those that a new thinning of the layer would have. */
async function differences({ layerId }: TestLayer): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  const { rows } = await client.query(
    `select number, band, thinned_sql(points_sql('layers', 'l' || layer_id, thinning, band), thinning, band) as wanted
     from thinning, unnest(bands) band where layer_id = $1 order by 1, 2`,
    [layerId],
  );
  for (const { number, band, wanted } of rows) {
    const is = `select x, y, class, bits, svc_id, geom::text from layers.l${layerId}_p${number}_z${band}`;
    const should = `select x, y, class, bits, svc_id, geom::text from (${wanted}) w`;
    const { rows: counts } = await client.query(
      `select (select count(*) from (${is} except ${should}) more)::int + (select count(*) from (${should} except ${is}) less)::int as n`,
    );
    found[`${number}/${band}`] = counts[0].n;
  }
  return found;
}
const exact = (found: Record<string, number>) => Object.values(found).every((n) => n === 0);

const twoRules = {
  // A rule that draws another marker for two of five, and one that labels few.
  bits: "(case when o$.c1 > 2 then 1::bigint else 0 end | case when o$.c1 = 0 then 2::bigint else 0 end)",
  kinds: "1",
  keeps: "2",
};

const layer = await layerOfPoints(twoRules);

t.test("a layer of few points is not thinned", async (t) => {
  const { layerId, table } = await makeLayer(client);
  await client.query(`insert into ${table} (geom) select ${point} from generate_series(1, 1000)`);
  await client.query("select generalize_layer($1)", [layerId]);
  t.same((await client.query("select from thinning where layer_id = $1", [layerId])).rows, []);
});

t.test("each level has at most a point for a pixel, the last one", async (t) => {
  const { rows } = await client.query("select bands from thinning where layer_id = $1 order by number", [
    layer.layerId,
  ]);
  t.equal(rows.length, 2);
  const bands: number[] = rows[0].bands;
  t.ok(bands.length > 5);
  t.ok(bands[0]! < 4);
  t.ok(exact(await differences(layer)));
  const finest = (
    await client.query(
      "select bands[cardinality(bands)] as zoom from thinning where layer_id = $1 and number = 2",
      [layer.layerId],
    )
  ).rows[0].zoom;
  t.ok(finest >= 8, "as fine as the rule that keeps points");
  const kept = await client.query(
    `select (select count(*) from layers.l${layer.layerId}_p2_z${finest} where class < 0)::int as is,
       (select count(*) from ${layer.table} where c1 = 0)::int as should`,
  );
  t.equal(kept.rows[0].is, kept.rows[0].should, "points under some rules are all there");
  const coarse = await client.query(
    `select count(*)::int as n from layers.l${layer.layerId}_p1_z${bands[0]}`,
  );
  t.ok(coarse.rows[0].n <= 20);
});

t.test("edits of every kind keep the levels exact", async (t) => {
  const { table, layerId } = layer;
  const coarsest = (
    await client.query("select bands[1] as band from thinning where layer_id = $1", [layerId])
  ).rows[0].band;
  const steps: Record<string, string> = {
    "an object is added": `insert into ${table} (geom, c1) values (${point}, 3)`,
    "the last of its pixel goes": `delete from ${table} where svc_id in (select svc_id from layers.l${layerId}_p1_z${coarsest})`,
    "many go": `delete from ${table} where svc_id % 40 = 0`,
    "some move": `update ${table} set geom = st_translate(geom, 0.01, 0) where svc_id % 50 = 1`,
    "some look different": `update ${table} set c1 = (c1 + 1) % 5 where svc_id % 50 = 2`,
    "some lose their place": `update ${table} set geom = null where svc_id % 50 = 3`,
    "an id changes": `update ${table} set svc_id = 1000000 where svc_id = (select max(svc_id) from ${table})`,
    "several points are one object": `insert into ${table} (geom) values (st_setsrid('multipoint(7 50, 7.1 50.1)'::geometry, 4326))`,
    "one is added, moved and taken away at once": `begin; insert into ${table} (svc_id, geom) values (2000000, ${point});
       update ${table} set geom = ${point} where svc_id = 2000000; delete from ${table} where svc_id = 2000000; commit`,
    "most move": `update ${table} set geom = st_translate(geom, 0.01, 0.01)`,
  };
  for (const [name, statement] of Object.entries(steps)) {
    await client.query(statement);
    t.same(
      Object.entries(await differences(layer)).filter(([, n]) => n > 0),
      [],
      name,
    );
  }
});

t.test("writers at once neither wait for each other forever nor leave a wrong level", async (t) => {
  const { table } = layer;
  const writers = await Promise.all(Array.from({ length: 8 }, connect));
  const errors: unknown[] = [];
  await Promise.all(
    writers.map(async (writer, seed) => {
      const next = randomNumbers(seed + 1);
      for (let round = 0; round < 12; round++) {
        const statements = Array.from({ length: 1 + (next() % 3) }, () => {
          const id = 1 + (next() % 2000) * 10 + seed;
          const kind = next() % 4;
          if (kind === 0) return `insert into ${table} (geom, c1) values (${point}, ${next() % 5})`;
          if (kind === 1) return `update ${table} set geom = ${point} where svc_id = ${id}`;
          if (kind === 2)
            return `update ${table} set c1 = ${next() % 5} where svc_id between ${id} and ${id} `;
          return `delete from ${table} where svc_id = ${id}`;
        });
        await writer.query(`begin; ${statements.join("; ")}; commit`).catch((error) => errors.push(error));
      }
    }),
  );
  t.same(errors, []);
  t.same(
    Object.entries(await differences(layer)).filter(([, n]) => n > 0),
    [],
  );
});

t.test("a thinning goes with the column that it looks at, and edits go on", async (t) => {
  await client.query(`alter table ${layer.table} drop column c1`);
  await client.query(`insert into ${layer.table} (geom) values (${point})`);
  const { rows } = await client.query("select number from thinning where layer_id = $1", [layer.layerId]);
  t.same(rows, [{ number: 1 }]);
  t.ok(exact(await differences(layer)));
});

t.test("what rules draw in any case is not copied to find out that it is not thinned", async (t) => {
  const { layerId } = await layerOfPoints();
  // Copies that are dropped leave no other trace.
  await asSuperuser(new URL(database.url).pathname.slice(1), (superuser) =>
    superuser.query(`
      create table public.copies (tag text);
      grant all on public.copies to public;
      create function public.note_copy() returns event_trigger language plpgsql as
        $$ begin insert into public.copies values (tg_tag); end $$;
      create event trigger copied on ddl_command_end when tag in ('CREATE TABLE AS') execute function public.note_copy()`),
  );
  const copies = async () =>
    (await client.query("select count(*)::int as n from public.copies")).rows[0].n as number;
  const zooms = "array_fill($1::bigint, array[13])";
  const made = async (bits: string, keeps: string): Promise<{ bands: number[]; copied: number }> => {
    const before = await copies();
    const { rows } = await client.query(
      `select make_thinning('layers', $3, row($4::bigint, 9, 'x', $2, '{c1}', ${zooms.replace("$1", "0")}, ${zooms},
         '{}', true, null)::thinning) as bands`,
      [keeps, bits, `l${layerId}`, layerId],
    );
    return { bands: rows[0].bands, copied: (await copies()) - before };
  };
  const every = await made("case when o$.c1 >= 0 then 1::bigint else 0 end", "1");
  t.same(every.bands, []);
  t.equal(every.copied, 0, "all");
  const most = await made("case when o$.c1 < 3 then 1::bigint else 0 end", "1");
  t.ok(most.copied <= most.bands.length + 1, `three of five: ${most.copied} copies`);
  const few = await made("case when o$.c1 = 0 then 1::bigint else 0 end", "1");
  t.not(few.bands.length, 0, "what is much lighter is made");
});

t.test("who takes the map's row and then the table waits for no making of a thinning", async (t) => {
  const { layerId, mapId, table } = await layerOfPoints();
  const [catalogue, maker] = [await connect(), await connect()];
  const wanted = {
    ...twoRules,
    digest: "y",
    columns: ["c1"],
    kinds: Array(13).fill(1),
    keeps: Array(13).fill(0),
  };
  const steps: readonly (readonly [name: string, sql: string, values: unknown[]])[] = [
    ["begin", "select begin_thinning($1, $2)", [layerId, JSON.stringify(wanted)]],
    [
      "finish",
      "select finish_thinning(layer_id, number, '{}') from thinning where layer_id = $1 and building",
      [layerId],
    ],
    ["sweep", "select sweep_thinnings()", []],
  ];
  for (const [name, sql, values] of steps) {
    await catalogue.query("begin");
    await catalogue.query("select from map where id = $1 for update", [mapId]);
    const making = maker.query(sql, values).then(
      () => "made",
      (error: Error) => error.message,
    );
    // What is dropped passes by the maps that somebody holds.
    if (name === "sweep") t.equal(await making, "made", "without waiting");
    else await waiting(maker);
    const locked = catalogue.query(`lock table ${table} in access exclusive mode`).then(
      () => "locked",
      (error: Error) => error.message,
    );
    t.equal(await locked, "locked", name);
    await catalogue.query("rollback");
    t.equal(await making, "made", name);
    if (name === "finish")
      await client.query(
        "update thinning set retired_at = now() - interval '1 hour' where layer_id = $1 and digest = 'y'",
        [layerId],
      );
  }
});

t.test("whoever goes on to make a thinning that was dropped writes into no other one's tables", async (t) => {
  const { layerId } = await layerOfPoints();
  const begun = async (digest: string): Promise<number> => {
    const spec = { ...twoRules, digest, columns: ["c1"], kinds: Array(13).fill(1), keeps: Array(13).fill(0) };
    const { rows } = await client.query("select begin_thinning($1, $2) as number", [
      layerId,
      JSON.stringify(spec),
    ]);
    return rows[0].number;
  };
  const numbers = [];
  for (const digest of ["one", "two", "three"]) {
    const number = await begun(digest);
    numbers.push(number);
    await client.query("select drop_thinning($1, $2)", [layerId, number]);
  }
  t.equal(new Set(numbers).size, 3, numbers.join(", "));
});

/** Resolves when the session waits for a lock. */
async function waiting(session: pg.Client): Promise<void> {
  const { processID } = session as unknown as { processID: number };
  await waitFor(async () => {
    const { rowCount } = await client.query("select from pg_locks where pid = $1 and not granted", [
      processID,
    ]);
    return rowCount! > 0;
  });
}

t.test("the tables go with their layer", async (t) => {
  const { layerId, table } = layer;
  await client.query(`truncate ${table}`);
  t.ok(exact(await differences(layer)), "truncate");
  await client.query("delete from node where id = $1", [layerId]);
  const left = await client.query("select relname from pg_class where relname ~ $1", [
    `^l${layerId}(_p.*)?$`,
  ]);
  t.same(left.rows, []);
});
