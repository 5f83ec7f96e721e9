import pg from "pg";
import t from "tap";
import { layerTable } from "../../src/catalog/layer-table.js";
import type { LayerNode } from "../../src/catalog/state.js";
import { answerBest, answerQuestion } from "../../src/features/visual-answer.js";
import { compactTally, makeTally, nextUp, tallyPlan } from "../../src/features/visual-tally.js";
import { questionOf } from "../../src/visual/kinds.js";
import { readSettings } from "../../src/visual/settings.js";
import { makeFeatures } from "./support.js";

/** Kept counts give what a look at all objects gives, after every edit. */

const features = await makeFeatures([
  { code: "n", type: "number" },
  { code: "kind", type: "string" },
]);
t.teardown(() => features.close());
const { db, layer, table, physical } = features;
const [n, kind] = [physical("n"), physical("kind")];

const shown = (visualSettings: object): LayerNode => ({
  ...layer,
  visualSettings: readSettings(layer, "visualSettings", visualSettings),
});
const languages = { own: "ru", main: "ru" };
const planOf = (of: LayerNode) => tallyPlan(of, questionOf(of)!)!;
/** Undefined = all objects were looked at. */
const kept = async (of: LayerNode) => {
  const question = questionOf(of)!;
  const found = await answerBest(db, of, { question, languages, plan: planOf(of) });
  return found.care === "make" ? undefined : found;
};
const whole = (of: LayerNode) => answerQuestion(db, of, questionOf(of)!, languages);

/** The same sequence for the same seed, from 0 to below `end`. */
function sequence(seed: number) {
  let state = seed;
  return (end: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}
const random = sequence(7);
/** Values of all sorts: repeated, far apart, near each other, extreme, none. */
const value = (): number | null =>
  [
    () => random(10),
    () => random(1e6) / 7,
    () => -random(1e4) * 1e-9,
    () => (random(2) ? 1 : -1) * 10 ** random(300),
    () => null,
    () => nextUp(5),
  ][random(6)]!();
const word = () => ["oak", "lime", "it's !bbox!", "", null][random(5)];

async function fill(count: number): Promise<void> {
  await db.execute(`truncate ${table}`);
  const rows = Array.from({ length: count }, () => [value(), word()] as const);
  await db.execute(`insert into ${table} (${n}, ${kind}) select * from unnest($1::float8[], $2::text[])`, [
    rows.map(([each]) => each),
    rows.map(([, each]) => each),
  ]);
}

async function edit(): Promise<void> {
  const some = `svc_id in (select svc_id from ${table} order by svc_id offset ${random(800)} limit ${1 + random(3)})`;
  switch (random(4)) {
    case 0:
      await db.execute(`insert into ${table} (${n}, ${kind}) values ($1, $2), ($3, $4)`, [
        value(),
        word(),
        value(),
        word(),
      ]);
      break;
    case 1:
      await db.execute(`update ${table} set ${n} = $1 where ${some}`, [value()]);
      break;
    case 2:
      await db.execute(
        `update ${table} set ${kind} = $1, ${n} = ${n} + 1 where ${some} and abs(${n}) < 1e300`,
        [word()],
      );
      break;
    default:
      await db.execute(`delete from ${table} where ${some}`);
  }
}

const kinds = { oak: "#ff0000", "it's !bbox!": "#00ff00", "": "#0000ff" };
const classes = Object.entries(kinds).map(([value, color]) => ({ value, color }));
const cases = {
  "equal intervals": shown({ type: 1, columnCode: "n", algorithm: 1, classesCount: 5 }),
  quantiles: shown({ type: 3, columnCode: "n", algorithm: 2, classesCount: 7 }),
  "quantiles on either side of 0": shown({
    ...{ type: 1, columnCode: "n", algorithm: 2, classesCount: 6 },
    classesSettings: { diverging: true },
  }),
  categories: shown({ type: 2, columnCode: "kind", classesSettings: { classes } }),
};

for (const [name, of] of Object.entries(cases))
  t.test(`${name} by kept counts are those of all objects after each of a thousand edits`, async (t) => {
    await fill(800);
    t.equal(await kept(of), undefined, "none are kept before they are made");
    await makeTally(db, of, planOf(of));
    let wrong = 0;
    for (let at = 0; at < 334; at++) {
      await edit();
      const answer = await kept(of);
      const expected = await whole(of);
      if (JSON.stringify(answer?.values) !== JSON.stringify(expected)) {
        wrong++;
        if (wrong === 1) t.same(answer?.values, expected);
      }
    }
    t.equal(wrong, 0);
    await compactTally(db, (await kept(of))!.tally);
    t.same((await kept(of))?.values, await whole(of), "put together they count the same");
  });

const of = cases.quantiles;
const isKept = async () => (await kept(of)) !== undefined;
const make = async () => {
  await makeTally(db, of, planOf(of));
  t.ok(await isKept());
};

t.test(
  "an edit whose snapshot is older than the counts fails to serialize, and is counted when it is tried again",
  async (t) => {
    const of = cases.quantiles;
    await fill(800);
    await db.execute("delete from visual_tally");
    const client = new pg.Client({ connectionString: db.directUrl });
    await client.connect();
    t.teardown(() => client.end());
    const edit = () => client.query(`update ${table} set ${n} = 5000 + svc_id`);
    await client.query("begin isolation level repeatable read");
    await client.query("select from mapwright.layer");
    await makeTally(db, of, planOf(of));
    await t.rejects(
      edit().then(() => client.query("commit")),
      { code: "40001" },
    );
    await client.query("rollback");
    t.same((await kept(of))!.values, await whole(of));
    await edit();
    t.same((await kept(of))!.values, await whole(of));
  },
);

t.test("counts end with the table that they were made of, and with other settings", async (t) => {
  await fill(500);
  await make();
  await db.execute(`truncate ${table}`);
  t.notOk(await isKept());
  await fill(100);
  await make();
  t.ok(await isKept());
  t.equal(await kept(cases.categories), undefined, "of another column");
  await makeTally(db, cases.categories, planOf(cases.categories));
  t.notOk(await isKept(), "a layer has one");
  await make();
  await db.execute(`alter table ${table} disable trigger tally_updated`);
  t.notOk(await isKept());
  await db.execute(`alter table ${table} enable trigger tally_updated`);
  t.ok(await isKept());
});

t.test("an edit succeeds whatever becomes of the counts", async (t) => {
  await fill(100);
  await make();
  await db.execute(`alter table ${table} rename ${n} to other`);
  await db.execute(`insert into ${table} (other) values (1)`);
  await db.execute(`alter table ${table} rename other to ${n}`);
  t.notOk(await isKept());
  await make();
});

t.test("counts without their index are not used, and are made again", async (t) => {
  await fill(500);
  await make();
  const [index] = await db.query<{ name: string }>(
    `select indexrelid::regclass::text as name from pg_index
     where indrelid = '${layerTable(of.id)}'::regclass and indexrelid::regclass::text like '%tally%'`,
  );
  await db.execute(`drop index ${index!.name}`);
  t.notOk(await isKept());
  await make();
});

t.test("a column takes its counts along when it changes its type or goes", async (t) => {
  await make();
  const { id } = layer.columns.find(({ code }) => code === "n")!;
  await db.execute("update layer_column set type = 'string' where id = $1", [id]);
  t.notOk(await isKept());
  await db.execute(`alter table ${table} alter ${n} type text`);
  await db.execute(`insert into ${table} (${n}) values ('a')`);
  await db.execute(`delete from ${table}`);
  await db.execute(`alter table ${table} alter ${n} type float8 using null`);
  await db.execute("update layer_column set type = 'number' where id = $1", [id]);
  await fill(50);
  await make();
  await db.execute("delete from layer_column where id = $1", [id]);
  t.notOk(await isKept());
  await db.execute(`alter table ${table} drop ${n}`);
  await db.execute(`insert into ${table} (${kind}) values ('a')`);
});
