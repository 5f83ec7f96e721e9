import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import t from "tap";
import { startLocalServices } from "../../src/local-services/services.js";
import { migrate } from "../../src/storage/migrate.js";
import { makeLayer } from "../support/layers.js";
import { quietLog } from "../support/log.js";

/**
 * What could be done with the server's role in its private cluster, if SQL of a stranger's ever ran: nothing but to
 * what the server keeps there.
 */

const folder = await mkdtemp(join(tmpdir(), "mapwright-role-"));
t.teardown(() => rm(folder, { recursive: true, force: true }));
const services = await startLocalServices({ dataDir: folder, log: quietLog, durable: false, redis: false });
t.teardown(() => services.stop());
const client = new pg.Client({ connectionString: services.databaseUrl! });
await client.connect();
t.teardown(() => client.end());
await migrate(client);
await client.query("set search_path = mapwright, public");
await makeLayer(client);
const canary = join(folder, "canary.txt");
await writeFile(canary, "c4n4ry", { mode: 0o644 });

const column = async (text: string): Promise<unknown[]> =>
  (await client.query({ text, rowMode: "array" })).rows.map(([value]) => value);

t.test("programs, files, addresses and settings are out of its reach", async (t) => {
  for (const text of [
    "copy (select 1) to program 'cat'",
    "copy project from program 'id'",
    `copy project from '${canary}'`,
    `copy project to '${folder}/out'`,
    `select pg_read_file('${canary}')`,
    `select pg_read_file('${canary}', 0, 10, true)`,
    `select pg_read_binary_file('${canary}')`,
    `select pg_stat_file('${canary}')`,
    `select pg_ls_dir('${folder}')`,
    "select pg_ls_logdir()",
    "select pg_ls_waldir()",
    "select pg_hba_file_rules()",
    `select lo_import('${canary}')`,
    `select lo_export(1, '${folder}/out')`,
    "create extension dblink",
    "create extension postgres_fdw",
    "create extension file_fdw",
    "create extension plpython3u",
    "create extension adminpack",
    "create language plperlu",
    "create function f() returns int language internal as 'pg_backend_pid'",
    "create function f() returns int language c as 'libc.so.6', 'getpid'",
    "load '/lib/x86_64-linux-gnu/libc.so.6'",
    "create server s foreign data wrapper w",
    "create subscription s connection 'host=127.0.0.1' publication p",
    "create publication p for all tables",
    "create event trigger e on ddl_command_end execute function now()",
    "create tablespace t location '/tmp'",
    "create role other",
    "create database other",
    "alter role current_user superuser",
    "alter system set archive_command = 'id'",
    "set session_preload_libraries = 'x'",
    "set log_statement = 'all'",
    "set role postgres",
    "set session authorization postgres",
    "select pg_reload_conf()",
    "select pg_rotate_logfile()",
    "select pg_promote()",
    "select pg_create_physical_replication_slot('s')",
    "select rolpassword from pg_authid",
    "select * from pg_user_mapping",
    "update pg_proc set prosrc = ''",
    "insert into spatial_ref_sys (srid) values (1)",
    "create or replace function public.st_area(geometry) returns float language sql as 'select 0'",
    "drop extension postgis",
  ]) {
    await t.rejects(client.query(text), { code: /^(42501|0A000|42704|58P01|55006|42P17)$/ }, text);
  }
});

t.test("it owns its own schemas and what is in them", async (t) => {
  t.same(await column("select nspname from pg_namespace where nspowner = current_user::regrole order by 1"), [
    "layers",
    "mapwright",
    "staging",
  ]);
  for (const [catalogue, owner, schema] of [
    ["pg_class", "relowner", "relnamespace"],
    ["pg_proc", "proowner", "pronamespace"],
    ["pg_type", "typowner", "typnamespace"],
    ["pg_operator", "oprowner", "oprnamespace"],
    ["pg_extension", "extowner", "extnamespace"],
  ] as const) {
    const outside = await column(
      `select oid::text from ${catalogue} where ${owner} = current_user::regrole
       and ${schema}::regnamespace::text not in ('layers', 'mapwright', 'staging', 'pg_toast')`,
    );
    t.same(outside, [], `${catalogue}: nothing outside of them`);
    const others = await column(
      `select oid::text from ${catalogue} where ${owner} <> current_user::regrole
       and ${schema}::regnamespace::text in ('layers', 'mapwright', 'staging')`,
    );
    t.same(others, [], `${catalogue}: nothing of others in them`);
  }
  t.same(
    await column(
      `select proname from pg_proc p where prosecdef
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
    ),
    [],
    "no function but PostGIS's runs with another's rights",
  );
});

t.test("it is a member of no other role, and has no attribute of power", async (t) => {
  t.same(
    await column(
      `select rolname from pg_roles where rolname <> current_user and pg_has_role(current_user, oid, 'member')
       and rolname <> 'pg_database_owner'`,
    ),
    [],
  );
  t.same(
    await column(
      `select rolname from pg_roles where rolname = current_user and
       (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls)`,
    ),
    [],
  );
  t.same(
    await column(
      `select datname from pg_database where has_database_privilege(current_user, datname, 'connect')
       and datallowconn and datname <> current_database()`,
    ),
    [],
    "no other database lets it in",
  );
});
