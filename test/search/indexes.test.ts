import { randomBytes } from "node:crypto";
import t from "tap";
import { createLog } from "../../src/log.js";
import { keepSearchIndexes } from "../../src/search/indexes.js";
import { saveSettings } from "../../src/search/settings.js";
import { importLock } from "../../src/storage/advisory-locks.js";
import { openDatabase } from "../../src/storage/postgres.js";
import { DatabaseLink } from "../support/database-link.js";
import { Hours } from "../support/hours.js";
import { lockWaiters } from "../support/locks.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";
import { searchBench } from "./support.js";

const bench = await searchBench();
const warnings: string[] = [];
const log = createLog("warn", "test", { write: (line: string) => void warnings.push(line) });
const indexes = keepSearchIndexes(bench.db, log);
t.teardown(async () => {
  await indexes.stop();
  await bench.stop();
});
const { sql, found } = bench;

const streets = await bench.layer("streets", [
  { code: "name", type: "string" },
  { code: "names", type: "string", localizedValue: true },
  { code: "number", type: "number" },
]);
const { name, names, number } = streets.physical as Record<"name" | "names" | "number", string>;
await sql.query(
  `insert into ${streets.table} (${name}, ${names}, ${number})
   select 'Улица ' || chr(1072 + g % 30) || chr(1072 + g % 29) || 'ская ' || g, jsonb_build_object('en', 'Road ' || g, 'de', 'Straße ' || g), g
   from generate_series(1, 5000) g`,
);
await sql.query(`analyze ${streets.table}`);

const present = async (): Promise<string[]> =>
  (
    await sql.query(
      `select c.relname from pg_class c join pg_index i on i.indexrelid = c.oid
       where relnamespace = 'layers'::regnamespace and relname ~ '^s[0-9]+_' and indisvalid order by relname`,
    )
  ).rows.map((row) => row.relname);
const adjusted = async () => {
  indexes.kick();
  await indexes.idle();
  return present();
};
const both = (column: string) => [`s${streets.ids[column]}_exact`, `s${streets.ids[column]}_words`];

const phrases = [
  "улица",
  "ул",
  "у",
  "улица ббская 1",
  "улица ббская 31",
  "4999",
  "нет такого",
  "Улица нигде",
  "road 77",
  "STRASSE 4000",
  "strasse",
  "% _",
  "77 %",
  "-",
];

t.test("the index finds what going through the table finds", async (t) => {
  t.equal((await bench.search("улица")).indexMissing, true, "it is known that indexes are missing");
  const before: unknown[][][] = [];
  for (const phrase of phrases) before.push(await found(phrase, 5, "de"));
  t.same(await adjusted(), [...both("name"), ...both("names")].sort());
  t.equal((await bench.search("улица")).indexMissing, false);
  for (const [i, phrase] of phrases.entries()) {
    const now = await found(phrase, 5, "de");
    // Where nearly all rows match a localised value, it is the first by value among those looked at.
    if (/strasse/i.test(phrase)) t.same([now.length, now[0]?.[0]], [5, before[i]![0]?.[0]], phrase);
    else t.same(now, before[i], phrase);
  }
});

t.test("an edit is found by the next search with an index, too", async (t) => {
  await sql.query(`update ${streets.table} set ${name} = 'Площадь Мира' where svc_id = 42`);
  t.same(await found("площадь мира"), [[30, "Площадь Мира"]]);
  await sql.query(`delete from ${streets.table} where svc_id = 42`);
  t.same(await found("площадь мира"), []);
});

t.test("a virtual layer is found in by its source's indexes, or without any", async (t) => {
  const few = await bench.layer("few", [{ code: "name", type: "string" }]);
  const column = few.physical.name;
  const view = async (source: string) => {
    await sql.query(`drop view if exists ${few.table}`);
    await sql.query(
      `create view ${few.table} as select svc_id, geom, geom_3857, ${source} as ${column} from ${streets.table} where svc_id > 2500`,
    );
  };
  await sql.query(`drop table ${few.table}`);
  await sql.query("update node set type = 'virtual' where id = $1", [few.id]);
  await saveSettings(bench.db, bench.mapId, [
    { layerId: few.id, searchColumnId: few.ids.name!, nameColumnId: few.ids.name!, priority: null },
  ]);
  for (const source of [name!, `${number}::text || ' ' || ${name}`]) {
    await view(source);
    t.equal((await found("4999", 1)).length, 1, source);
    t.same(await found("2499"), [], source);
  }
  t.equal((await bench.search("4999")).indexMissing, false);
  await sql.query(`drop view ${few.table}; delete from node where id = ${few.id}`);
  await saveSettings(bench.db, bench.mapId, []);
});

t.test("indexes follow the settings", async (t) => {
  await saveSettings(bench.db, bench.mapId, [
    {
      layerId: streets.id,
      searchColumnId: streets.ids.number!,
      nameColumnId: streets.ids.name!,
      priority: null,
    },
  ]);
  t.same(await adjusted(), both("number"));
  t.match((await bench.search("4711")).hits, [{ priority: 30, value: "4711" }]);
  await saveSettings(bench.db, bench.mapId, []);
  t.same(await adjusted(), [...both("name"), ...both("names")].sort());
});

t.test("an index that was left unfinished is made anew", async (t) => {
  const [words] = [`s${streets.ids.name}_words`];
  await sql.query(`drop index layers.${words}`);
  await sql.query(`create or replace function failing(t text) returns text language plpgsql immutable as $$
    begin raise exception 'no'; end $$`);
  await t.rejects(
    sql.query(
      `create index concurrently ${words} on ${streets.table} using gin (failing(${name}) gin_trgm_ops)`,
    ),
  );
  t.notOk((await present()).includes(words!));
  t.equal((await found("улица", 5)).length, 5, "searches work without it");
  t.ok((await adjusted()).includes(words!));
});

t.test("a column that becomes another type gives its indexes up", async (t) => {
  const clear = `alter table ${streets.table} alter column ${name} type double precision using length(${name})`;
  await sql.query(clear);
  await sql.query("update layer_column set type = 'number' where id = $1", [streets.ids.name]);
  t.same(await present(), both("names").sort());
  await sql.query(`alter table ${streets.table} alter column ${names} type text using ${names}->>'en'`);
  await sql.query("update layer_column set localized_value = false where id = $1", [streets.ids.names]);
  t.same(await present(), []);
  t.same(await adjusted(), both("names").sort());
  t.same(await found("road 78", 1), [[30, "Road 78"]]);
});

t.test("a layer that lost its objects loses its indexes", async (t) => {
  await sql.query(`delete from ${streets.table} where svc_id > 10`);
  await sql.query(`analyze ${streets.table}`);
  t.same(await adjusted(), []);
  t.same(await found("road 7", 1), [[30, "Road 7"]]);
});

t.test("an import under way is not disturbed", async (t) => {
  await sql.query(
    `insert into ${streets.table} (${names}) select 'Road ' || g from generate_series(1, 5000) g`,
  );
  await sql.query(`analyze ${streets.table}`);
  const key = importLock(String(streets.id));
  await sql.query(`select pg_advisory_lock(${key})`);
  t.same(await adjusted(), []);
  await sql.query(`select pg_advisory_unlock(${key})`);
  t.same(await adjusted(), both("names").sort());
});

t.test("a layer that is locked for long keeps its indexes, and holds up no other", async (t) => {
  const other = await bench.layer("parks", [{ code: "name", type: "string" }]);
  await sql.query(
    `insert into ${other.table} (${other.physical.name}) select 'Park ' || g from generate_series(1, 5000) g`,
  );
  await sql.query(`analyze ${other.table}`);
  await sql.query("begin");
  await sql.query(`lock table ${streets.table} in access exclusive mode`);
  const made = await adjusted();
  await sql.query("rollback");
  t.same(made, [...both("names"), `s${other.ids.name}_exact`, `s${other.ids.name}_words`].sort());
  await sql.query(`truncate ${other.table}`);
  await sql.query(`analyze ${other.table}`);
  t.same(await adjusted(), both("names").sort());
});

t.test("a layer that is deleted before its indexes are made is not spoken of", async (t) => {
  const other = await bench.layer("gone", [{ code: "name", type: "string" }]);
  await sql.query(
    `insert into ${other.table} (${other.physical.name}) select 'Lane ' || g from generate_series(1, 5000) g`,
  );
  await sql.query(`analyze ${other.table}`);
  await sql.query("begin");
  await sql.query(`lock table ${other.table} in share mode`);
  indexes.kick();
  await lockWaiters(sql);
  await sql.query(`delete from node where id = ${other.id}`);
  await sql.query(`drop table if exists ${other.table} cascade`);
  await sql.query("commit");
  await indexes.idle();
  t.same(warnings, []);
});

t.test("few long texts have indexes, too, and are found in either way", async (t) => {
  const tales = await bench.layer("tales", [{ code: "text", type: "text" }]);
  // Texts that do not compress to nothing.
  await sql.query(
    `insert into ${tales.table} (${tales.physical.text})
     select (select string_agg(md5(random()::text), ' ') from generate_series(1, 110) where t > 0) || ' tale' || t
     from generate_series(1, 120) t`,
  );
  await sql.query(`analyze ${tales.table}`);
  const tale = async () => (await bench.search("tale120")).hits.length;
  t.equal(await tale(), 1);
  t.ok((await adjusted()).includes(`s${tales.ids.text}_words`));
  t.equal(await tale(), 1);
  t.equal((await bench.search("tale", { limit: 5 })).hits.length, 5);
});

t.test("a word is not too long for the indexes", async (t) => {
  const keys = await bench.layer("keys", [{ code: "text", type: "text" }]);
  const word = Array.from({ length: 120 }, () => randomBytes(16).toString("hex")).join("");
  const add = (value: string) =>
    sql.query(`insert into ${keys.table} (${keys.physical.text}) values ($1)`, [value]);
  await sql.query(
    `insert into ${keys.table} (${keys.physical.text}) select 'key ' || g from generate_series(1, 3000) g`,
  );
  await add(`${word} (first)`);
  await sql.query(`analyze ${keys.table}`);
  t.ok((await adjusted()).includes(`s${keys.ids.text}_words`));
  await add(`${word} (second)`);
  t.same(
    (await found(`${word.slice(1_000, 1_020)} (`, 5)).map(([priority]) => priority),
    [20, 20],
  );
  t.same((await found(word, 5)).length, 2);
});

t.test(
  "what is begun is given up although the request to cancel it comes between two statements",
  async (t) => {
    const pages = await bench.layer("pages", [{ code: "text", type: "string" }]);
    await sql.query(
      `insert into ${pages.table} (${pages.physical.text}) select 'page ' || g from generate_series(1, 5000) g`,
    );
    await sql.query(`analyze ${pages.table}`);
    const link = await DatabaseLink.to(bench.db.directUrl);
    const db = openDatabase({ url: link.url, connections: 2, statementTimeoutMs: 60_000, log: quietLog });
    t.teardown(async () => {
      await db.close();
      await link.close();
    });
    const before = await present();
    await db.query("select 1");
    // The server has done a statement, and the node does not know yet.
    link.readyDelayMs = 3_000;
    const own = keepSearchIndexes(db, quietLog);
    own.kick();
    await waitFor(
      async () =>
        (
          await sql.query(
            `select from pg_locks where locktype = 'advisory' and granted
             and (classid::bigint << 32) + objid::bigint = ${importLock("$1")}`,
            [pages.id],
          )
        ).rowCount === 1,
    );
    await own.stop();
    link.restore();
    t.same(await present(), before);
    t.ok((await adjusted()).length > before.length, "the next one makes them");
  },
);

t.test("what cannot be made is told once and tried ever more rarely, and the rest is made", async (t) => {
  // It looks each half minute by itself, and its attempts would count here.
  await indexes.stop();
  const odd = await bench.layer("odd", [{ code: "text", type: "string" }]);
  const { text } = odd.physical as Record<"text", string>;
  await sql.query(
    `insert into ${odd.table} (${text}) select 'odd one ' || g from generate_series(1, 5000) g`,
  );
  await sql.query(`analyze ${odd.table}`);
  const { rows } = await sql.query("select pg_get_functiondef('search_terms(text)'::regprocedure) as was");
  await sql.query(`create sequence attempts;
    create or replace function search_terms(folded text) returns text[] language plpgsql immutable strict as $$
    begin
      if folded = ' odd one 1 ' then
        perform nextval('mapwright.attempts');
        raise exception 'no terms';
      end if;
      return '{}';
    end $$`);
  const attempts = async () =>
    Number((await sql.query("select last_value * is_called::int as n from attempts")).rows[0].n);
  const said: string[] = [];
  const hours = new Hours();
  const own = keepSearchIndexes(
    bench.db,
    createLog("warn", "test", { write: (line: string) => void said.push(line) }),
    hours,
  );
  t.teardown(() => own.stop());
  /** As each search of the column asks for its indexes. */
  const asked = async () => {
    for (let time = 0; time < 3; time++) {
      own.kick();
      await own.idle();
    }
    return attempts();
  };
  t.equal(await asked(), 1);
  t.ok((await present()).includes(`s${odd.ids.text}_exact`));
  t.notOk((await present()).includes(`s${odd.ids.text}_words`));
  await hours.pass(30_000);
  t.equal(await asked(), 2);
  await hours.pass(30_000);
  t.equal(await asked(), 2, "the pause has doubled");
  t.equal(said.length, 1, said.join(""));
  await sql.query(rows[0].was);
  await hours.pass(30_000);
  await asked();
  t.ok((await present()).includes(`s${odd.ids.text}_words`), "it is made once it can be");
});
