import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import t from "tap";
import { loadConfig } from "../../src/config.js";
import type { MetatileRequest } from "../../src/hosts/messages.js";
import { type RenderHost, startRenderHost, tasksAtOnce } from "../../src/hosts/render.js";
import { createStyleCompiler } from "../../src/style/compiler.js";
import { png } from "../../src/tiles/formats.js";
import { freshDatabase, settingsOf } from "../support/database.js";
import { failure } from "../support/failure.js";
import { quietLog } from "../support/log.js";
import { picture } from "../support/pictures.js";
import { waitFor } from "../support/server.js";

/** The supervised render host, with real renders that take as long as PostgreSQL is told to sleep. */

const database = await freshDatabase({ bare: true });
const config = loadConfig({ environment: {}, flags: { ...settingsOf(database), "tiles.queueLength": 4 } });
const host: RenderHost = startRenderHost(config, quietLog);
t.teardown(async () => {
  await host.stop();
  await database.drop();
});
await host.whenReady();
const { mostOfOwner } = tasksAtOnce(config.render.concurrency);

/** A whole-world picture of one point at 0, 0 that takes `seconds` in each of its layers. */
function sleepy(seconds: number, layers = 1): MetatileRequest {
  const query = `select 1 as svc_id, st_setsrid(st_point(0, 0), 3857) as geom from pg_sleep(${seconds})`;
  const parameters: Record<string, string> = {
    type: "postgis",
    table: `(${query}) as q`,
    geometry_field: "geom",
    key_field: "svc_id",
    srid: "3857",
    extent: "-20037508,-20037508,20037508,20037508",
  };
  const xml = `<Map srs="epsg:3857"><Style name="s"><Rule><MarkersSymbolizer width="20" fill="#ff0000"/></Rule></Style>
    ${`<Layer name="l" srs="epsg:3857"><StyleName>s</StyleName><Datasource>${Object.entries(parameters)
      .map(([name, value]) => `<Parameter name="${name}">${value}</Parameter>`)
      .join("")}</Datasource></Layer>`.repeat(layers)}</Map>`;
  return {
    parts: [{ kind: "map", map: { digest: `sleep ${seconds} ${layers}`, xml: [{ text: xml }] } }],
    origin: { z: 0, x: 0, y: 0 },
    count: 1,
    scale: 1,
    encoding: png.mapnikEncodings[0],
    bufferPixels: 16,
  };
}
/** Of what is to be done: the machine may be busy. */
const longMs = 60_000;
const draw = (seconds: number, deadlineMs = longMs) => host.call("metatile", sleepy(seconds), { deadlineMs });
/** A style that takes seconds to compile. */
const largeStyle = Array.from({ length: 6_000 }, (_, n) => `#a[n=${n}]{line-width:${n % 9}}`).join("");
const kill = (signal: NodeJS.Signals) => process.kill(host.pid!, signal);

t.test("it draws", async (t) => {
  const { tiles } = await draw(0);
  const image = await picture(tiles[0]!.bytes);
  t.same(image.at(128, 128), [255, 0, 0, 255]);
});

t.test("images are laid between maps, in the order of the parts", async (t) => {
  const map = (style: string) => ({
    digest: style,
    xml: [{ text: `<Map srs="epsg:3857" background-color="${style}"/>` }],
  });
  const image = (colour: readonly number[]) => {
    const pixels = new Uint8Array(4 * 256 * 256);
    for (let at = 0; at < pixels.length / 2; at++) pixels[at] = colour[at % 4]!;
    return pixels;
  };
  const drawn = async (parts: MetatileRequest["parts"]) => {
    const { tiles } = await host.call("metatile", { ...sleepy(0), parts }, { deadlineMs: longMs });
    const shown = await picture(tiles[0]!.bytes);
    return [shown.at(3, 3), shown.at(3, 200), shown.at(128, 128)];
  };
  const near = (found: number[][], wanted: number[][]) => {
    for (const [at, colour] of wanted.entries())
      for (const [channel, value] of colour.entries())
        t.ok(Math.abs(found[at]![channel]! - value) <= 2, `${found[at]} is ${colour}`);
  };
  const blue = map("#0000ff");
  const half = { kind: "image", image: { pixels: image([0, 255, 0, 128]) } } as const;
  const mixed = [0, 128, 127, 255];
  const [point] = sleepy(0).parts;
  near(await drawn([]), [[0, 0, 0, 0]]);
  near(await drawn([half]), [
    [0, 255, 0, 128],
    [0, 0, 0, 0],
  ]);
  near(await drawn([{ kind: "map", map: blue }, half, point!]), [mixed, [0, 0, 255, 255], [255, 0, 0, 255]]);
  near(await drawn([half, { kind: "map", map: blue }]), [[0, 0, 255, 255]]);
  near(await drawn([half, point!]), [
    [0, 255, 0, 128],
    [0, 0, 0, 0],
    [255, 0, 0, 255],
  ]);
  for (let round = 0; round < 2; round++)
    near(await drawn([{ kind: "map", map: blue, keep: "1" }, half]), [mixed, [0, 0, 255, 255]]);
  const faint = { kind: "image", image: { pixels: image([255, 0, 0, 255]), opacity: 0.25 } } as const;
  near(await drawn([faint]), [[255, 0, 0, 64]]);
  near(await drawn([{ kind: "map", map: map("rgba(0,0,255,0.5)") }, faint]), [[102, 0, 153, 160]]);
});

t.test("tasks of a host that is killed from outside are done by the next one", async (t) => {
  const pid = host.pid;
  const work = [draw(0.4), draw(0.4)];
  await waitFor(() => host.counts().running === 2);
  kill("SIGKILL");
  for (const { tiles } of await Promise.all(work)) t.equal(tiles.length, 1);
  t.not(host.pid, pid);
});

t.test("a task over which its host crashes alone is not tried again", async (t) => {
  const restarts = host.counts().restarts;
  const work = draw(5);
  await waitFor(() => host.counts().running === 1);
  kill("SIGSEGV");
  await t.rejects(work, { name: "HostError", reason: "died" });
  await draw(0);
  t.equal(host.counts().restarts, restarts + 1);
});

t.test(
  "of several tasks in a crash each is tried once more, alone, and only the one that crashes again fails",
  async (t) => {
    const [innocent, culprit] = [draw(0.3), draw(3)];
    const failed = t.rejects(culprit, { name: "HostError", reason: "died" });
    await waitFor(() => host.counts().running === 2);
    kill("SIGSEGV");
    t.equal((await innocent).tiles.length, 1);
    await waitFor(() => host.apart.counts().running === 1);
    process.kill(host.apart.pid!, "SIGSEGV");
    await failed;
    t.equal((await draw(0)).tiles.length, 1);
  },
);

t.test("what others ask for does not wait for tasks that are tried again", async (t) => {
  let isSlowDone = false;
  const slow = draw(6).finally(() => {
    isSlowDone = true;
  });
  await waitFor(() => host.counts().running === 1);
  kill("SIGKILL");
  await waitFor(() => host.apart.counts().running === 1);
  t.equal((await draw(0)).tiles.length, 1);
  t.notOk(isSlowDone);
  t.equal((await slow).tiles.length, 1);
});

t.test(
  "a task that overruns its deadline fails, and what ran beside it is done by the next host",
  async (t) => {
    const endless = t.rejects(draw(30, 600), { name: "HostError", reason: "deadline" });
    const beside = draw(1);
    await endless;
    t.equal((await beside).tiles.length, 1);
  },
);

t.test("a call beyond the queue is refused, one that is aborted leaves it", async (t) => {
  const running = Array.from({ length: mostOfOwner }, () => draw(0.5));
  await waitFor(() => host.counts().waiting === 0);
  const abort = new AbortController();
  const queued = host.call("metatile", sleepy(0), { deadlineMs: longMs, signal: abort.signal });
  const others = Array.from({ length: 3 }, () => draw(0));
  await t.rejects(draw(0), { name: "Failure", kind: "busy" });
  abort.abort(new Error("left"));
  await t.rejects(queued, { message: "left" });
  const place = draw(0);
  for (const work of [...running, ...others, place]) t.equal((await work).tiles.length, 1);
});

t.test("a task that is refused as it waited for too long is not drawn later", async (t) => {
  const flags = { ...settingsOf(database), "render.concurrency": 1, "tiles.deadlineMs": 3_000 };
  const host = startRenderHost(loadConfig({ environment: {}, flags }), quietLog);
  t.teardown(() => host.stop());
  await host.whenReady();
  const long = (seconds: number) => host.call("metatile", sleepy(seconds, 6), { deadlineMs: longMs });
  const drawn = long(0.7);
  await t.rejects(long(0.75), failure("busy"));
  await drawn;
  const sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  t.teardown(() => sql.end());
  for (let n = 0; n < 10; n++) {
    const { rows } = await sql.query("select from pg_stat_activity where strpos(query, 'sleep(' || $1) > 0", [
      "0.75",
    ]);
    t.equal(rows.length, 0);
    await delay(50);
  }
  t.same([host.counts().running, host.counts().restarts], [0, 0]);
});

t.test("while a large style is compiled, those of other projects are", async (t) => {
  const styles = createStyleCompiler(host, { deadlineMs: 63_000 });
  const compile = (layerStyle: string, project: number) =>
    styles.compile(
      { mapStyle: "", layerStyle, layerCode: "a", deadlineMs: 60_000 },
      { project, stored: false },
    );
  let isDone = false;
  const large = compile(largeStyle, 1).finally(() => {
    isDone = true;
  });
  for (const project of [2, 3, 4]) await compile(`#a{line-width:${project}}`, project);
  t.notOk(isDone);
  await large;
});

t.test(
  "a thread that runs out of memory while it is ended over its deadline leaves the host alone",
  async (t) => {
    const pid = host.pid;
    const branches = "[c=3],[d=4] { ".repeat(20);
    const layerStyle = `#a { ${"[a=1],".repeat(3)}[b=2] { ${branches} line-width: 1; ${"}".repeat(20)} } }`;
    const compile = (deadlineMs: number) =>
      host.call("compile", { mapStyle: "", layerStyle, layerCode: "a", deadlineMs }, { deadlineMs: 60_000 });
    const begun = performance.now();
    t.match(await compile(60_000), { ok: false, error: "The style needs too much memory to compile." });
    const needed = performance.now() - begun;
    // Which of the two comes first is up to the machine, so that several are tried.
    for (let share = 0.8; share <= 1; share += 0.05)
      t.match(await compile(Math.round(share * needed)), { ok: false });
    t.equal((await draw(0)).tiles.length, 1);
    t.equal(host.pid, pid);
  },
);

t.test("a style that takes too long to compile is given up without touching renders beside it", async (t) => {
  const pid = host.pid;
  const beside = draw(0.5);
  const response = await host.call(
    "compile",
    { mapStyle: "", layerStyle: largeStyle, layerCode: "a", deadlineMs: 100 },
    { deadlineMs: longMs },
  );
  t.match(response, { ok: false, deadline: true });
  t.equal((await beside).tiles.length, 1);
  t.equal(host.pid, pid);
  const good = await host.call(
    "compile",
    { mapStyle: "", layerStyle: "#l { line-width: 1; }", layerCode: "l", deadlineMs: longMs },
    { deadlineMs: longMs },
  );
  t.equal(good.ok, true);
});
