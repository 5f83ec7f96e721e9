import { createHash, randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import t from "tap";
import { type BackupFolder, type NotedBlob, openBackups } from "../../src/backup/backup-folder.js";
import { makeBackup } from "../../src/backup/make-backup.js";
import { startNode } from "../../src/node.js";
import { makeFileLayer, makeObject, send } from "../api/files.support.js";
import { runCommand } from "../commands/support.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";
import { makeMap } from "../support/maps.js";
import { startServer, waitFor } from "../support/server.js";

/** Backups that are made while people work, and restored elsewhere: all is there, and fits together. */

const folder = await mkdtemp(join(tmpdir(), "mapwright-backup-"));
t.teardown(() => rm(folder, { recursive: true, force: true }));
const target = join(folder, "backups");
const server = await startServer();
t.teardown(() => server.stop());
const { config } = server.nodes[0]!.services;
const source = {
  DATABASE_URL: config.databaseUrl,
  MAPWRIGHT_DATABASE_DIRECT_URL: config.databaseDirectUrl,
  MAPWRIGHT_DATA_DIR: config.dataDir,
};
await makeMap(server, "m");
await server.sql.query(
  "update map set start_view = '{12.4,41.8,12.6,42}', base_map = 'builtin-dark' where code = 'm'",
);
await makeFileLayer(server, "a");
const admin = await server.token("admin");
const { id: invited } = (await server.api("POST", "members/", { token: admin, body: { login: "anna" } }))
  .json;
await server.api("POST", `members/${invited}/invitation/`, { token: admin });
await mkdir(join(config.dataDir, "icons"), { recursive: true });
await writeFile(join(config.dataDir, "icons", "own.svg"), "<svg/>");

const mapwright = async (variables: Record<string, string>, ...args: string[]) => {
  const { status, stdout, stderr } = await runCommand(args, { variables });
  return {
    status,
    stdout,
    stderr,
    json: stdout.startsWith("{") || stdout.startsWith("[") ? JSON.parse(stdout) : undefined,
  };
};

/** Objects with a file each; the file's text is the object's number. */
const written = new Map<number, string>();
async function write(): Promise<void> {
  const id = await makeObject(server, "a");
  const answer = await send(server, `a/objects/${id}`, { bytes: `file of ${id}` });
  if (answer.status === 200) written.set(id, answer.json.path);
}

/** A hash of the rows of each table. */
async function contentOf(url: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('mapwright', 'layers') order by 1`,
    );
    const content: Record<string, string> = {};
    for (const { name } of rows) {
      // What belongs to the running nodes and to the database itself, and when the last backup was made.
      if (/server_node|epoch|function_file|edge|installation/.test(name)) continue;
      const found = await client.query(`select t::text as row from ${name} t order by 1`);
      content[name] = createHash("md5").update(JSON.stringify(found.rows)).digest("hex");
    }
    return content;
  } finally {
    await client.end();
  }
}

/** An installation with nothing in it. */
async function empty() {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const dataDir = await mkdtemp(join(folder, "data-"));
  return { DATABASE_URL: database.url, MAPWRIGHT_DATA_DIR: dataDir };
}

t.test("a backup that is made while files are attached has each object's file", async (t) => {
  for (let number = 0; number < 5; number++) await write();
  let isOver = false;
  const writing = (async () => {
    while (!isOver) await write();
  })();
  const before = written.size;
  const made = await mapwright(source, "backup", target, "--json");
  isOver = true;
  await writing;
  t.equal(made.status, 0, made.stderr);
  const [, age] = /^mapwright_backup_age_seconds (.*)$/m.exec(
    await (await fetch(`${server.url}/metrics`)).text(),
  )!;
  t.ok(Number(age) >= 0 && Number(age) < 600, `${age} s`);
  t.ok(made.json.blobs >= before, `${made.json.blobs} of ${written.size} files`);

  const elsewhere = await empty();
  const restored = await mapwright(elsewhere, "restore", target);
  t.equal(restored.status, 0, restored.stderr);
  const node = await startNode(
    {
      ...config,
      databaseUrl: elsewhere.DATABASE_URL,
      databaseDirectUrl: "",
      dataDir: elsewhere.MAPWRIGHT_DATA_DIR,
      port: 0,
    },
    quietLog,
  );
  t.teardown(() => node.stop(1_000));
  const base = `http://127.0.0.1:${node.port}`;
  let there = 0;
  for (const [index, [id, path]] of [...written].entries()) {
    const object = await fetch(`${base}/api/2.8/p/m/layers/a/objects/${id}/`);
    const { fields } = JSON.parse(await object.text());
    // What was attached later than the moment of the backup is not there, and not half.
    if (!fields?.files) t.ok(index >= before, `object ${id} was there before`);
    else {
      there++;
      t.equal(await (await fetch(`${base}${path}`)).text(), `file of ${id}`);
    }
  }
  t.equal(there, made.json.blobs);
  t.same(await readdir(join(elsewhere.MAPWRIGHT_DATA_DIR, "icons")), ["own.svg"]);
  const ready = JSON.parse(await (await fetch(`${base}/health/ready`)).text());
  t.equal(ready.checks.files, true, "the files are known as this installation's");
});

t.test("the next one copies what is new only, and restores all to the row", async (t) => {
  await write();
  const made = await mapwright(source, "backup", target, "--json");
  t.equal(made.status, 0, made.stderr);
  t.equal(made.json.blobs, written.size);
  t.ok(made.json.copied < made.json.blobs);
  const before = await contentOf(source.DATABASE_URL);

  const elsewhere = await empty();
  t.equal((await mapwright(elsewhere, "restore", target)).status, 0);
  t.same(await contentOf(elsewhere.DATABASE_URL), before);

  const refused = await mapwright(elsewhere, "restore", target);
  t.equal(refused.status, 1);
  t.match(refused.stderr, /--replace/);
  const first = (await mapwright(source, "backup", target, "--list", "--json")).json[0];
  const again = await mapwright(elsewhere, "restore", target, "--at", first.name, "--replace", "--yes");
  t.equal(again.status, 0, again.stderr);
  t.notSame(await contentOf(elsewhere.DATABASE_URL), before);
});

t.test("a file that is deleted while the backup is made is in it all the same", async (t) => {
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: "soon gone" });
  // As if the snapshot had been taken before.
  const { blobs } = server.nodes[0]!.services;
  await blobs.setAside(file.uuid);
  const made = await mapwright(source, "backup", target, "--json");
  t.equal(made.status, 0, made.stderr);
  t.equal(await blobs.size(file.uuid), 9);
});

t.test(
  "the password of the database is in no list of processes, whichever server is the primary",
  async (t) => {
    const own = new URL(config.databaseUrl);
    own.password ||= "not-to-be-seen";
    const several = own.href.replace(own.host, `127.0.0.1:1,${own.host}`);
    // The program waits for it; for tables the command would wait before.
    await server.sql.query("create sequence held");
    await server.sql.query("begin; alter sequence held rename to held_by_us");
    const made = mapwright({ ...source, DATABASE_URL: several }, "backup", target);
    try {
      let lines: string[] = [];
      await waitFor(async () => {
        const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
        const all = await Promise.all(
          pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
        );
        lines = all.filter((line) => line.includes("pg_dump") && line.includes(own.pathname));
        return lines.length > 0;
      });
      t.notMatch(lines.join(), /password=|\/\/[^/@]*:[^/@]*@/);
    } finally {
      await server.sql.query("rollback");
    }
    const { status, stderr } = await made;
    t.equal(status, 0, stderr);
    await server.sql.query("drop sequence held");
  },
);

t.test("what is deleted, changed or imported when a backup begins does not spoil it", async (t) => {
  const id = await makeObject(server, "a", { name: "kept" });
  const { json: gone } = await server.api("POST", "m/layers/", {
    token: await server.token("editor"),
    body: { code: "gone" },
  });
  const [layer] = (await server.sql.query("select id from node where code = 'a'")).rows;
  const [column] = (
    await server.sql.query("select id from layer_column where code = 'name' and layer_id = $1", [layer.id])
  ).rows;
  await server.sql.query("create table staging.coming (a int)");
  const others = [
    `drop table layers.l${gone.id} cascade`,
    // Rows that are written anew are none for whoever has begun to read before.
    `alter table layers.l${layer.id} alter column c${column.id} type varchar(70)`,
    "drop table staging.coming",
  ];
  const doing: Promise<unknown>[] = [];
  const meanwhile = await Promise.all(others.map(() => server.nodes[0]!.services.db.dedicated()));
  const backups = await openBackups(join(folder, "begun"));
  // Called when the moment of the backup is there.
  const hooked: BackupFolder = Object.create(backups, {
    noteBlobs: {
      value: async (name: string, noted: readonly NotedBlob[]) => {
        if (noted.length > 0 && doing.length === 0)
          for (const [index, sql] of others.entries()) {
            const client = meanwhile[index]!;
            doing.push(client.query(sql));
            const pid = (client as unknown as { processID: number }).processID;
            await waitFor(async () => {
              const { rows } = await server.sql.query(
                "select state, wait_event_type from pg_stat_activity where pid = $1",
                [pid],
              );
              return rows[0].state === "idle" || rows[0].wait_event_type === "Lock";
            });
          }
        await backups.noteBlobs(name, noted);
      },
    },
  });
  const { services } = server.nodes[0]!;
  await makeBackup(hooked, { ...services, signal: new AbortController().signal, progress: () => undefined });
  await Promise.all(doing);
  for (const client of meanwhile) await client.end();
  const there = await empty();
  const restored = await mapwright(there, "restore", join(folder, "begun"));
  t.equal(restored.status, 0, restored.stderr);
  const client = new pg.Client({ connectionString: there.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query(
    `select c${column.id} as name from layers.l${layer.id} where svc_id = $1`,
    [id],
  );
  t.same(rows, [{ name: "kept" }]);
  t.same((await client.query("select 1 from pg_tables where schemaname = 'staging'")).rows, []);
  await client.end();
});

t.test("a backup that fails leaves the others as they are, and is none", async (t) => {
  const { json: before } = await mapwright(source, "backup", target, "--list", "--json");
  const id = await makeObject(server, "a");
  const { json: file } = await send(server, `a/objects/${id}`, { bytes: "lost" });
  await server.nodes[0]!.services.blobs.delete(file.uuid);
  const made = await mapwright(source, "backup", target, "--json");
  t.equal(made.status, 1);
  t.match(made.stderr, new RegExp(file.uuid));
  t.same((await mapwright(source, "backup", target, "--list", "--json")).json, before);
  t.same(
    (await readdir(target)).filter((name) => name !== "files").toSorted(),
    before.map(({ name }: { name: string }) => name),
  );
  await server.sql.query("delete from file where uuid = $1", [file.uuid]);
});

t.test("a damaged one is noticed before anything is lost; old ones go", async (t) => {
  const made = await mapwright(source, "backup", target, "--keep", "2", "--json");
  t.equal(made.status, 0, made.stderr);
  t.ok(made.json.removed >= 1);
  const { json: list } = await mapwright(source, "backup", target, "--list", "--json");
  t.equal(list.length, 2);
  const elsewhere = await empty();
  t.equal((await mapwright(elsewhere, "restore", target)).status, 0);
  const before = await contentOf(elsewhere.DATABASE_URL);
  await writeFile(join(target, made.json.name, "database"), "PGDMP and no more");
  const refused = await mapwright(elsewhere, "restore", target, "--replace", "--yes");
  t.equal(refused.status, 1);
  t.match(refused.stderr, /is damaged.*pg_restore failed/s);
  t.same(await contentOf(elsewhere.DATABASE_URL), before);
});

t.test("one whose SQL names a program runs none, and changes nothing", async (t) => {
  const own = join(folder, "hostile");
  const made = await mapwright(source, "backup", own, "--json");
  const file = join(own, made.json.name, "database");
  const trace = join(folder, "trace");
  const bytes = await readFile(file, "latin1");
  // As long as what it takes the place of.
  const [statement] = /CREATE FUNCTION mapwright\.[^\0]{200,}/.exec(bytes)!;
  const hostile = `select 1;\n\\! touch ${trace}\n`.padEnd(statement.length);
  await writeFile(file, bytes.replace(statement, hostile), "latin1");
  const elsewhere = await empty();
  const before = await contentOf(elsewhere.DATABASE_URL);
  t.match(await mapwright(elsewhere, "restore", own), { status: 1, stderr: /restricted/ });
  t.notOk((await readdir(folder)).includes("trace"));
  t.same(await contentOf(elsewhere.DATABASE_URL), before);
});

t.test(
  "one of a newer version, or into another installation's files, is refused before anything is lost",
  async (t) => {
    const elsewhere = await empty();
    t.equal(
      (
        await mapwright(
          elsewhere,
          "restore",
          target,
          "--at",
          (
            await mapwright(source, "backup", target, "--list", "--json")
          ).json[0].name,
        )
      ).status,
      0,
    );
    const before = await contentOf(elsewhere.DATABASE_URL);
    const made = await mapwright(source, "backup", join(folder, "newer"), "--json");
    t.equal(made.status, 0, made.stderr);
    const description = join(folder, "newer", made.json.name, "backup.json");
    const later = { name: "999_later.sql", expands: false };
    await writeFile(
      description,
      JSON.stringify({ ...made.json, migrations: [...made.json.migrations, later] }),
    );
    const newer = await mapwright(elsewhere, "restore", join(folder, "newer"), "--replace", "--yes");
    t.match(newer, { status: 1, stderr: /newer version.*999_later\.sql/ });

    const { DATABASE_URL } = await empty();
    const own = await startServer();
    t.teardown(() => own.stop());
    const { dataDir: othersDir } = own.nodes[0]!.services.config;
    await waitFor(() => own.nodes[0]!.services.store.isOurs());
    const others = { DATABASE_URL, MAPWRIGHT_DATA_DIR: othersDir };
    await writeFile(description, JSON.stringify(made.json));
    t.match(await mapwright(others, "restore", join(folder, "newer")), {
      status: 1,
      stderr: /another installation/,
    });
    t.equal(await own.nodes[0]!.services.store.isOurs(), true);
    t.same(await contentOf(elsewhere.DATABASE_URL), before);
  },
);

t.test("one whose description is damaged is in nobody's way", async (t) => {
  const own = join(folder, "kept");
  t.equal((await mapwright(source, "backup", own)).status, 0);
  const {
    json: [first],
  } = await mapwright(source, "backup", own, "--list", "--json");
  for (const text of ["null", "{}", JSON.stringify({ ...first, program: "\u001b[2J" }), "{"]) {
    await writeFile(join(own, first.name, "backup.json"), text);
    t.match((await mapwright(source, "backup", own, "--list")).stdout, /damaged/, text);
    t.match(await mapwright(source, "restore", own), { status: 1, stderr: /All backups .* are damaged/ });
  }
  const made = await mapwright(source, "backup", own, "--keep", "1");
  t.equal(made.status, 0, made.stderr);
  t.match((await mapwright(source, "backup", own, "--list")).stdout, new RegExp(`${first.name} +damaged`));
  t.match(await mapwright(source, "restore", own, "--at", first.name), { status: 1, stderr: /is damaged/ });
});

t.test(
  "one whose list of files was cut is not restored without them, and none of them is removed",
  async (t) => {
    const own = join(folder, "listed");
    const id = await makeObject(server, "a");
    const { json: file } = await send(server, `a/objects/${id}`, { bytes: "listed" });
    t.equal((await mapwright(source, "backup", own)).status, 0);
    const [{ name }] = (await mapwright(source, "backup", own, "--list", "--json")).json;
    const list = join(own, name, "blobs");
    const text = await readFile(list, "utf8");
    const target = await empty();
    const another = `${randomUUID()} 1\n`;
    for (const cut of [
      "",
      text.slice(0, -8),
      text.slice(text.indexOf("\n") + 1),
      text.replace(/^.*\n/, another),
    ]) {
      await writeFile(list, cut);
      t.match(await mapwright(target, "restore", own), {
        status: 1,
        stderr: /is damaged.*Nothing was changed/,
      });
    }
    await writeFile(list, text.replaceAll(file.uuid, "../../../../../etc/passwd"));
    t.match(await mapwright(target, "restore", own), { status: 1, stderr: /is damaged/ });
    // As if it were old, and named by none.
    const kept = join(own, "files", file.uuid.slice(0, 2), file.uuid);
    await utimes(kept, 1, 1);
    await server.sql.query("delete from file where uuid = $1", [file.uuid]);
    t.match(await mapwright(source, "backup", own, "--keep", "2"), { status: 0 });
    await writeFile(list, text);
    t.match(await mapwright(target, "restore", own, "--at", name), { status: 0 });
    t.equal(await readFile(kept, "utf8"), "listed");
  },
);

t.test(
  "a file that is not whole is mended from the side that has it, and refused where none has",
  async (t) => {
    const own = join(folder, "files-of");
    const id = await makeObject(server, "a");
    const { json: file } = await send(server, `a/objects/${id}`, { bytes: "whole" });
    t.equal((await mapwright(source, "backup", own)).status, 0);
    const kept = join(own, "files", file.uuid.slice(0, 2), file.uuid);
    await writeFile(kept, "who");
    t.match(await mapwright(await empty(), "restore", own), {
      status: 1,
      stderr: new RegExp(`is damaged.*${file.uuid}`),
    });
    t.equal((await mapwright(source, "backup", own)).status, 0);
    t.equal(await readFile(kept, "utf8"), "whole");
    const elsewhere = await empty();
    t.equal((await mapwright(elsewhere, "restore", own)).status, 0);
    const restored = join(elsewhere.MAPWRIGHT_DATA_DIR, "files", file.uuid.slice(0, 2), file.uuid);
    await writeFile(restored, "wh");
    t.equal((await mapwright(elsewhere, "restore", own, "--replace", "--yes")).status, 0);
    t.equal(await readFile(restored, "utf8"), "whole");
    t.match(await mapwright(source, "backup", join(folder, "nowhere"), "--list"), {
      status: 1,
      stderr: /no backup in/,
    });
    t.match(await mapwright(source, "backup", kept, "--list"), { status: 1, stderr: /is no folder/ });
  },
);

t.test("a server that runs meanwhile notices that it has other data", async (t) => {
  const own = await startServer();
  t.teardown(() => own.stop());
  const { databaseUrl, databaseDirectUrl, dataDir } = own.nodes[0]!.services.config;
  const variables = {
    DATABASE_URL: databaseUrl,
    MAPWRIGHT_DATABASE_DIRECT_URL: databaseDirectUrl,
    MAPWRIGHT_DATA_DIR: dataDir,
  };
  t.equal((await mapwright(variables, "backup", join(folder, "own"))).status, 0);
  await makeMap(own, "later");
  const seen = async () => (await fetch(`${own.url}/tms/p/later/0/0/0.png`)).status;
  t.equal(await seen(), 200);
  const restored = await mapwright(variables, "restore", join(folder, "own"), "--replace", "--yes");
  t.equal(restored.status, 0, restored.stderr);
  await waitFor(async () => (await seen()) !== 200);
});
