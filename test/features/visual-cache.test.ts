import t from "tap";
import type { LayerNode } from "../../src/catalog/state.js";
import { LayerVersion } from "../../src/changes/layer-version.js";
import { VisualCache } from "../../src/features/visual-cache.js";
import type { Database } from "../../src/storage/postgres.js";
import { readSettings } from "../../src/visual/settings.js";
import { quietLog } from "../support/log.js";
import { waitFor } from "../support/server.js";
import { makeFeatures } from "./support.js";

/** What visualizations show is computed once for each version of a layer. */

const features = await makeFeatures([
  { code: "n", type: "number" },
  { code: "gone", type: "number" },
]);
t.teardown(() => features.close());
const { table, physical } = features;
const shown = (columnCode: string, classesCount = 1): LayerNode => ({
  ...features.layer,
  visualSettings: readSettings(features.layer, "visualSettings", { type: 1, columnCode, classesCount }),
});
const layer = shown("n");

/** The real database, with a count of the computations. */
let computed = 0;
const db: Database = new Proxy(features.db, {
  get: (target, name: keyof Database) => {
    if (name !== "transaction") return target[name];
    return (work: Parameters<Database["transaction"]>[0]) => {
      computed++;
      return target.transaction(work);
    };
  },
});
const tracked = new LayerVersion(layer.id, 1);
const versions = { trusted: true, track: async () => [tracked], refresh: async () => undefined };
const cache = new VisualCache(db, versions, quietLog);
/** Whose layers they are. */
const project = { id: 1, languages: ["ru"] } as const;
const current = async (of = layer) => (await cache.current(of, project))?.max;
const add = async (value: number) => {
  await features.db.execute(`insert into ${table} (${physical("n")}) values ($1)`, [value]);
  tracked.version++;
};

t.test("those who ask at once share one computation, which lasts until the layer changes", async (t) => {
  await add(1);
  t.same(await Promise.all([current(), current(), current()]), [1, 1, 1]);
  t.equal(await current(), 1);
  t.equal(computed, 1);
  await add(5);
  t.same(await Promise.all([current(), current()]), [5, 5]);
  t.equal(computed, 2);
});

t.test("other settings ask anew, the same ones of another snapshot do not", async (t) => {
  const before = computed;
  t.equal(await current({ ...layer, columns: [...layer.columns] }), 5);
  t.equal(computed, before);
  await current(shown("n", 2));
  t.equal(computed, before + 1);
  t.equal(await cache.current({ ...layer, visualSettings: null }, project), undefined);
});

t.test("what is tried leaves what everybody sees as it is", async (t) => {
  await current();
  const before = computed;
  const tried: LayerNode = { ...shown("n", 3), isTried: true };
  t.same(await Promise.all([current(tried), current(tried)]), [5, 5]);
  t.equal(await current(), 5);
  t.equal(await current(tried), 5);
  t.equal(computed, before + 1, "each has an answer of its own");
});

t.test("a project whose statistics take long leaves others a turn", async (t) => {
  let asked = 0;
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const slow: Database = new Proxy(features.db, {
    get: (target, name: keyof Database) => {
      if (name !== "transaction") return target[name];
      return async (work: Parameters<Database["transaction"]>[0]) => {
        if (++asked <= 2) await held;
        return target.transaction(work);
      };
    },
  });
  let tables = 0;
  const track = async () => [new LayerVersion(++tables, 1)];
  const busy = new VisualCache(slow, { ...versions, track }, quietLog);
  const own = [1, 2, 3].map(() => busy.current(layer, project));
  await waitFor(() => asked === 2);
  t.ok(await busy.current(layer, { ...project, id: 2 }));
  t.equal(asked, 3, "the third of the first project waits");
  goOn();
  await Promise.all(own);
});

t.test("who asks after an edit does not get what was looked at before it", async (t) => {
  const blocker = await features.db.dedicated();
  await blocker.query(`begin; lock table ${table} in access exclusive mode`);
  tracked.version++;
  const before = computed;
  const early = current();
  await waitFor(async () => computed > before);
  await blocker.query(`insert into ${table} (${physical("n")}) values (9); commit`);
  tracked.version++;
  const late = current();
  await blocker.end();
  await early;
  t.equal(await late, 9);
});

t.test("what takes too long is shown as it was last, and as it is when it is there", async (t) => {
  t.equal(await current(), 9);
  const blocker = await features.db.dedicated();
  await blocker.query(`begin; lock table ${table} in access exclusive mode`);
  tracked.version++;
  const known = await cache.inTime([layer, { ...layer, visualSettings: null }], project, 20);
  t.equal(known.get(layer.id)?.max, 9);
  t.equal((await cache.inTime([shown("n", 3)], project, 20)).size, 0, "nothing is known of other settings");
  await blocker.query(`insert into ${table} (${physical("n")}) values (20); commit`);
  tracked.version++;
  await blocker.end();
  await waitFor(async () => (await cache.inTime([layer], project, 1_000)).get(layer.id)?.max === 20);
});

t.test("a large layer gets kept counts in the background, and what they give is the same", async (t) => {
  await features.db.execute(
    `insert into ${table} (${physical("n")}) select i % 17 from generate_series(1, 400) i`,
  );
  tracked.version++;
  const eager = new VisualCache(features.db, versions, quietLog, 100);
  const tallies = async () => (await features.db.query("select from visual_tally")).length;
  await eager.current({ ...shown("gone", 4), isTried: true }, project);
  t.equal(await tallies(), 0, "of what is only tried none are kept");
  const whole = await eager.current(shown("n", 4), project);
  await waitFor(async () => (await tallies()) === 1);
  await features.db.execute(`insert into ${table} (${physical("n")}) values (2)`);
  tracked.version++;
  const kept = await eager.current(shown("n", 4), project);
  t.same(kept?.borders, whole?.borders);
  t.equal(kept?.counts[0], whole!.counts[0]! + 1);
});

t.test("a layer that outgrew its counts loses them, and gets none again", async (t) => {
  const tallies = async () => (await features.db.query("select from visual_tally")).length;
  t.equal(await tallies(), 1);
  const grown = new VisualCache(features.db, versions, quietLog, 100, 40_000);
  await features.db.execute(
    `insert into ${table} (${physical("n")}) select 5 + i / 1e5 from generate_series(1, 41000) i`,
  );
  tracked.version++;
  const kept = await grown.current(shown("n", 4), project);
  await waitFor(async () => (await tallies()) === 0);
  tracked.version++;
  t.same(await grown.current(shown("n", 4), project), kept);
  t.equal(await tallies(), 0);
  await features.db.execute(`delete from ${table} where ${physical("n")} between 5.000001 and 5.9`);
  tracked.version++;
});

t.test("what fails is not tried again at once", async (t) => {
  const lost = shown("gone");
  await features.db.execute(`update ${table} set ${physical("gone")} = 3`);
  tracked.version++;
  t.equal(await current(lost), 3);
  t.match(await cache.latest(lost, project), { isCurrent: true });
  await features.db.execute(`alter table ${table} drop column ${physical("gone")}`);
  tracked.version++;
  const before = computed;
  t.same([await current(lost), await current(lost), await current(lost)], [3, 3, 3]);
  t.equal(computed, before + 1);
  t.match(
    await cache.latest(lost, project),
    { values: { max: 3 }, isCurrent: false },
    "tiles are not kept then",
  );
  t.equal((await cache.inTime([lost], project, 1_000)).get(layer.id)?.max, 3);
});
