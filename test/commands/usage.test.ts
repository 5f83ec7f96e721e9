import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { programName } from "../../src/program-name.js";
import { adviceOnRefusal } from "../../src/storage/connection-errors.js";
import { freshDatabase } from "../support/database.js";
import { startNoting } from "../support/listening.js";
import { testRedisUrl } from "../support/redis.js";
import { runCommand } from "./support.js";

const nowhere = { DATABASE_URL: "postgresql://127.0.0.1:1/none", REDIS_URL: "redis://127.0.0.1:1/0" };

t.test("what is not understood ends with status 2 and asks nothing of the services", async (t) => {
  for (const line of [
    "",
    "nonsense",
    "project",
    "project create",
    "project create a b",
    "user add anna",
    "user add anna --project p --role king",
    "grant anna --project p",
    "session open anna --project p --origin moon",
    "session tile-key anna --project p --map m --seconds 0",
    "config print --nonsense",
    "map delete p m",
    "layer delete p m l",
  ]) {
    const args = line === "" ? [] : line.split(" ");
    const result = await runCommand(args, { variables: nowhere });
    t.equal(result.status, 2, line);
    t.equal(result.stdout, "");
    t.not(result.stderr, "");
  }
});

t.test("help finds pages by plain questions, as the search in the browser does", async (t) => {
  const help = (...args: string[]) => runCommand(["help", ...args], { variables: nowhere });
  for (const [question, page] of [
    ["attach a photo", "photos"],
    ["stale tile", "never-stale"],
    ["duplicate map", "copy-a-map"],
    ["noRoom", "api-visualizations"],
    ["no_georeference", "errors"],
    ["outcome_unknown", "errors"],
  ] as const) {
    const { status, stdout } = await help(...question.split(" "));
    t.equal(status, 0, question);
    t.match(stdout.split("\n")[1], new RegExp(`^  ${page} +\\S`), question);
  }
  t.match(JSON.parse((await help("attach", "a", "photo", "--json")).stdout), {
    pages: [{ page: "how-to/photos" }],
  });
  t.match(await help("expot"), { status: 1, stderr: /No page has "expot"; did you mean export\?/ });
  t.match(await help("zzzzqqq"), { status: 1, stdout: "", stderr: /No page has "zzzzqqq"/ });
  const { stdout } = await help("backup");
  t.match(stdout, /^# Make a backup\n\n\S/);
  t.notMatch((await help("copy-a-map")).stdout, /\n\n\n/);
});

t.test("every command has help with an example", async (t) => {
  for (const line of [
    "project create",
    "project list",
    "project base-map",
    "project delete",
    "user add",
    "user list",
    "user password",
    "user remove",
    "grant",
    "bin empty",
    "bin list",
    "bin restore",
    "key add",
    "key list",
    "key remove",
    "map create",
    "map list",
    "map rename",
    "map delete",
    "layer list",
    "layer delete",
    "map publish",
    "map unpublish",
    "map group",
    "map ungroup",
    "session open",
    "session tile-key",
    "cache purge",
    "config print",
    "config admin-url",
    "config check",
    "doctor",
  ]) {
    const result = await runCommand([...line.split(" "), "--help"], { variables: nowhere });
    t.match(result, { status: 0, stdout: /Examples?:\n {2}\$ / }, line);
  }
  t.match(await runCommand(["--version"], { variables: nowhere }), {
    status: 0,
    stdout: /^\d+\.\d+\.\d+( \([0-9a-f]{12}(-dirty)?\))?\n$/,
  });
});

t.test("what is said to be run next can be run as it is written", async (t) => {
  t.equal(programName("/usr/local/bin/mapwright"), "mapwright");
  t.equal(programName("/srv/maps/node_modules/.bin/mapwright"), "npx mapwright");
  t.equal(programName("/srv/maps/dist/src/main.js"), "npx mapwright");
  const folder = t.testdir();
  const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const checkout = join(main, "../../..");
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: checkout, env: { ...process.env, ...nowhere }, encoding: "utf8" });
  const installed = join(folder, "mapwright");
  await symlink(main, installed);
  for (const [name, help, failed] of [
    ["mapwright", run(installed, "--help"), run(installed, "help", "zzzzqqq")],
    ["npx mapwright", run("npx", "mapwright", "--help"), run("npx", "mapwright", "help", "zzzzqqq")],
    ["npx mapwright", run(process.execPath, main, "--help"), run(process.execPath, main, "help", "zzzzqqq")],
  ] as const) {
    t.match(help.stdout, `Usage: ${name} [options]`);
    t.match(help.stdout, `\n  $ ${name} doctor\n`);
    t.match(failed.stderr, `\`${name} help\` lists all of them`);
  }
});

t.test("services that cannot be reached are named, with status 1", async (t) => {
  t.match(await runCommand(["project", "list"], { variables: nowhere }), {
    status: 1,
    stderr: /PostgreSQL.*REFUSED/,
  });
  const main = fileURLToPath(new URL("../../src/main.js", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [main, "serve", "--port", "0"], {
    env: { ...process.env, ...nowhere },
    encoding: "utf8",
  });
  t.match({ status, stderr }, { status: 1, stderr: /PostgreSQL.*REFUSED.*--local/ });
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const variables = { ...nowhere, DATABASE_URL: database.url };
  t.match(await runCommand(["cache", "purge"], { variables }), { status: 1, stderr: /Redis/ });

  const listAt = (changed: Partial<Pick<URL, "pathname" | "search">>) => {
    const { href } = Object.assign(new URL(database.url), changed);
    return runCommand(["project", "list"], { variables: { ...nowhere, DATABASE_URL: href } });
  };
  t.match(await listAt({ pathname: "/no_such_database" }), {
    status: 1,
    stderr: /does not exist\. Make the database/,
  });
  t.match(await listAt({ search: "?sslmode=verify-full" }), { status: 1, stderr: /SSL.*Correct sslmode/ });
  for (const name of ["sslrootcert", "sslcert", "sslkey"])
    t.match(await listAt({ search: `?sslmode=verify-full&${name}=/nowhere/ca.crt` }), {
      status: 1,
      stderr: `databaseUrl (MAPWRIGHT_DATABASE_URL): expected ${name} to name a file that can be read: ENOENT: no such file or directory`,
    });
  const unencrypted = 'no pg_hba.conf entry for host "10.0.0.2", user "maps", database "maps", no encryption';
  t.match(adviceOnRefusal(Object.assign(new Error(unencrypted), { code: "28000" })), /encrypted.*sslmode/);
});

t.test("config print shows what is in effect and hides passwords", async (t) => {
  const variables = {
    DATABASE_URL: "postgresql://u:geheim@db.example:5432/maps?password=geheim2&sslmode=require",
    REDIS_URL: "redis://:geheim3@cache.example:6379/1",
    MAPWRIGHT_PORT: "9999",
    MAPWRIGHT_METRICS_TOKEN: "geheim4-and-much-longer",
    MAPWRIGHT_EDGE_KIND: "hook",
    MAPWRIGHT_EDGE_URLS: "https://u:geheim5@edge.example/drop",
    MAPWRIGHT_EDGE_TOKEN: "geheim6",
  };
  const hidden = await runCommand(["--log-level", "debug", "config", "print"], { variables });
  t.equal(hidden.status, 0);
  t.notMatch(hidden.stdout, /geheim/);
  t.match(JSON.parse(hidden.stdout), {
    databaseUrl: "postgresql://u:***@db.example:5432/maps?password=***&sslmode=require",
    redisUrl: "redis://:***@cache.example:6379/1",
    port: 9999,
    logLevel: "debug",
  });
  const shown = await runCommand(["config", "print", "--show-secrets"], { variables });
  t.match(JSON.parse(shown.stdout), {
    databaseUrl: variables.DATABASE_URL,
    redisUrl: variables.REDIS_URL,
    edge: { token: "geheim6" },
  });
});

t.test("config print shows paths as they are from everywhere", async (t) => {
  const printed = async (variables: Record<string, string>) =>
    JSON.parse((await runCommand(["config", "print"], { variables })).stdout);
  t.match(await printed({}), {
    dataDir: resolve("data"),
    external: { keysDir: "" },
    visualPlugins: ["arrows"],
  });
  const relative = {
    MAPWRIGHT_DATA_DIR: "here",
    MAPWRIGHT_EXTERNAL_KEYS_DIR: "../keys",
    MAPWRIGHT_VISUAL_PLUGINS: "arrows,./plug.js",
  };
  t.match(await printed(relative), {
    dataDir: resolve("here"),
    external: { keysDir: resolve("../keys") },
    visualPlugins: ["arrows", resolve("plug.js")],
  });
  const none = await runCommand(["--data-dir", "", "config", "check"], { variables: {} });
  t.match(none, { status: 1, stderr: /dataDir \(MAPWRIGHT_DATA_DIR\): expected a folder/ });
});

t.test("config check names the wrong key and the expected form", async (t) => {
  t.equal((await runCommand(["config", "check"], { variables: {} })).status, 0);
  const wrong = await runCommand(["config", "check"], {
    variables: { MAPWRIGHT_REDIS_URL: "localhost", MAPWRIGHT_TILES_MEMORY_BYTES: "much" },
  });
  t.equal(wrong.status, 1);
  t.match(wrong.stderr, /redisUrl \(MAPWRIGHT_REDIS_URL\): expected an address such as/);
  t.match(
    wrong.stderr,
    /tiles\.memoryBytes .*: expected a size such as "256 MB" or a number of bytes, got "much"/,
  );
  const missing = await runCommand(["config", "check"], {
    variables: { MAPWRIGHT_VISUAL_PLUGINS: "arrows,/nowhere/plug.js" },
  });
  t.match(missing, { status: 1, stderr: /visualPlugins: \/nowhere\/plug\.js: / });
});

t.test("wrong values and unknown names are told in plain words", async (t) => {
  const told = async (variables: Record<string, string>) => {
    const { status, stderr } = await runCommand(["config", "check"], { variables });
    t.equal(status, 1, JSON.stringify(variables));
    t.match(stderr, "mapwright help settings", "and where all of them are told");
    return stderr;
  };
  for (const [variables, text] of [
    [{ MAPWRIGHT_PORT: "abc" }, 'port (MAPWRIGHT_PORT): expected a number from 0 to 65535, got "abc"'],
    [{ MAPWRIGHT_PORT: "1.5" }, 'expected a number from 0 to 65535, got "1.5"'],
    [{ MAPWRIGHT_PORT: "70000" }, 'expected a number from 0 to 65535, got "70000"'],
    [{ MAPWRIGHT_METRICS: "maybe" }, 'metrics (MAPWRIGHT_METRICS): expected true or false, got "maybe"'],
    [{ MAPWRIGHT_LOG_LEVEL: "loud" }, "expected one of fatal, error, warn"],
    [{ MAPWRIGHT_PROT: "1" }, "MAPWRIGHT_PROT: unknown variable; did you mean MAPWRIGHT_PORT?"],
    [{ MAPWRIGHT_TILES_MEMORY: "1" }, "did you mean MAPWRIGHT_TILES_MEMORY_BYTES?"],
    [{ MAPWRIGHT_QWERTYUIOP: "1" }, "MAPWRIGHT_QWERTYUIOP: unknown variable\n"],
  ] as const)
    t.ok((await told(variables)).includes(text), `${text} in ${await told(variables)}`);
  const secret = await told({
    MAPWRIGHT_DATABASE_URL: "mysql://u:geheim@h/x",
    MAPWRIGHT_METRICS_TOKEN: "geheim",
  });
  t.notMatch(secret, /geheim/);
  const folder = await mkdtemp(join(tmpdir(), "mapwright-config-"));
  t.teardown(() => rm(folder, { recursive: true }));
  await writeFile(
    join(folder, "c.json"),
    '{"prot": 1, "tiles": {"memorybytes": 1, "redrawHot": "x"}, "render": 5}',
  );
  const ofFile = await told({ MAPWRIGHT_CONFIG: join(folder, "c.json") });
  t.match(ofFile, /prot: unknown key; did you mean port\?/);
  t.match(ofFile, /tiles\.memorybytes: unknown key; did you mean tiles\.memoryBytes\?/);
  t.match(ofFile, /tiles\.redrawHot .*expected true or false, got "x"/);
  t.match(ofFile, /render .*: expected object, got 5/);
  t.match(
    await told({ MAPWRIGHT_CONFIG: join(folder, "d.json") }),
    /file .*d\.json: there is no such file\n/,
  );
  const kubernetes = { MAPWRIGHT_SERVICE_HOST: "10.0.0.1", MAPWRIGHT_PORT_8080_TCP: "tcp://10.0.0.1:8080" };
  t.equal((await runCommand(["config", "check"], { variables: kubernetes })).status, 0);
});

t.test("the private services of a checkout are used unless others are named", async (t) => {
  // What people call folders.
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright data & <Карты> '1'-"));
  t.teardown(() => rm(dataDir, { recursive: true }));
  const local = { databaseUrl: "postgresql://u@127.0.0.1:1111/local", redisUrl: "redis://127.0.0.1:2222/0" };
  await writeFile(join(dataDir, "services.json"), JSON.stringify(local));
  const print = async (variables: Record<string, string>, ...flags: string[]) => {
    const result = await runCommand([...flags, "config", "print"], {
      variables: { MAPWRIGHT_DATA_DIR: dataDir, ...variables },
    });
    return JSON.parse(result.stdout) as typeof local;
  };
  t.match(await print({}), local);
  const elsewhere = { databaseUrl: "postgresql://other/x", redisUrl: "redis://127.0.0.1:6379/0" };
  t.match(await print({ DATABASE_URL: "postgresql://other/x" }), elsewhere);
  t.match(await print({ MAPWRIGHT_DATABASE_URL: "postgresql://other/x" }), elsewhere);
  t.match(await print({}, "--database-url", "postgresql://other/x"), elsewhere);
  await writeFile(join(dataDir, "services.json"), JSON.stringify({ redisUrl: local.redisUrl }));
  t.match(await print({ DATABASE_URL: "postgresql://other/x" }), {
    databaseUrl: "postgresql://other/x",
    redisUrl: local.redisUrl,
  });
  await writeFile(join(dataDir, "services.json"), "{");
  t.match(await print({}), { databaseUrl: "postgresql:///mapwright" });
});

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly advice?: string;
}

t.test("doctor finds everything in order, and says what to do about what is not", async (t) => {
  const database = await freshDatabase();
  t.teardown(() => database.drop());
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-data-"));
  t.teardown(() => rm(dataDir, { recursive: true }));
  const variables = { DATABASE_URL: database.url, REDIS_URL: testRedisUrl(), MAPWRIGHT_DATA_DIR: dataDir };
  const fine = await runCommand(["doctor", "--json"], { variables });
  t.equal(fine.status, 0, fine.stdout);
  const names = (JSON.parse(fine.stdout) as { name: string }[]).map((check) => check.name);
  t.same(names, [
    "Node",
    "PostgreSQL",
    "postgis",
    "pg_trgm",
    "unaccent",
    "schema",
    "Redis",
    "Mapnik",
    "fonts",
    "GDAL",
    "plug-ins",
    "data folder",
    "disk",
    "clocks",
    "files",
    "raster layers",
    "metrics",
  ]);
  t.same(await readdir(dataDir), [], "nothing is left of what it has tried");

  await mkdir(join(dataDir, "files"));
  await writeFile(join(dataDir, "files/installation"), randomUUID());
  const foreign = await runCommand(["doctor", "--json"], { variables });
  t.equal(foreign.status, 1);
  t.match(
    (JSON.parse(foreign.stdout) as Check[]).filter(({ ok }) => !ok),
    [{ name: "files", found: /another installation/, advice: /dataDir/ }],
  );
  await rm(join(dataDir, "files"), { recursive: true });

  const redis = (JSON.parse(fine.stdout) as Check[]).find(({ name }) => name === "Redis");
  t.match(redis, { ok: true, advice: /sessions may be evicted/ }, "the one that tests use evicts");
  const apart = await runCommand(["doctor", "--json"], {
    variables: { ...variables, MAPWRIGHT_TILES_REDIS_URL: testRedisUrl() },
  });
  const ofTiles = (JSON.parse(apart.stdout) as Check[]).find(({ name }) => name === "Redis of tiles");
  t.match(ofTiles, { ok: true, advice: undefined });

  const hook = await startNoting();
  t.teardown(() => hook.stop());
  const edge = { MAPWRIGHT_EDGE_KIND: "hook", MAPWRIGHT_EDGE_URLS: hook.url };
  t.match(
    (await runCommand(["doctor"], { variables: { ...variables, ...edge } })).stdout,
    /ok +edge +hook takes/,
  );
  t.same(hook.sent[0]!.body, { keys: ["doctor"] });
  hook.answer = () => ({ status: 405 });
  const deaf = await runCommand(["doctor"], { variables: { ...variables, ...edge } });
  t.match(deaf, { status: 1, stdout: /PROBLEM +edge +hook does not take purges: .*405/ });

  const sick = await runCommand(["doctor"], {
    variables: { ...nowhere, MAPWRIGHT_DATA_DIR: "/nonexistent/deep/data" },
  });
  t.equal(sick.status, 1);
  t.match(sick.stdout, /PROBLEM +PostgreSQL +cannot be reached.*DATABASE_URL/);
  t.match(sick.stdout, /PROBLEM +Redis/);
  t.match(sick.stdout, /PROBLEM +data folder/);
  t.match(sick.stdout, /ok +Mapnik/);
  t.match(sick.stderr, /3 problems/);
});
