import t from "tap";
import { changeColumn, deleteColumn } from "../../src/catalog/structure.js";
import { type Answer, overtakenBench, type World } from "./overtaken.bench.support.js";
import type { Change } from "./overtaken.support.js";
import { cases } from "./overtaken-cases.support.js";

/** Columns that are deleted, or get another type, at the worst moments of a request. */

const bench = await overtakenBench();
t.teardown(() => bench.stop());
const ofColumns = cases.filter(
  ({ path, wish }) =>
    /:layer\/(objects|filter|structure|constraints|import|export|visualization)|search/.test(path) &&
    wish.kind === undefined,
);

const targetOf = ({ mapId, layerId }: World) => ({ mapId, layerId, mainLanguage: "en" });
const changes: Readonly<Record<string, (world: World) => Change>> = {
  "c is deleted": (world) => (client) => deleteColumn(client, targetOf(world), "c"),
  "f is deleted": (world) => (client) => deleteColumn(client, targetOf(world), "f"),
  "n becomes a text": (world) => (client) => changeColumn(client, targetOf(world), "n", { type: "string" }),
};

/** Whether the answer is one of the contract: what there is, or that there is no such column. */
const isToldWell = ({ status, text }: Answer) =>
  status === 200 || status === 404 || (status === 500 && !text.includes('"internal"'));

const countObjects = async ({ layerId }: World): Promise<number> =>
  (await bench.server.sql.query(`select count(*)::int as n from layers.l${layerId}`)).rows[0].n;

/** Objects that a request adds to those that are there. */
const added = (at: { method: string; path: string; wish: { query?: string | undefined } }): number =>
  at.method === "POST" && /\/(objects|bulk|split|import)\/$/.test(at.path) && at.wish.query === undefined
    ? 1
    : 0;
const removed = ({ method, path }: { method: string; path: string }): number =>
  (method === "DELETE" && path.endsWith(":object/")) || path.endsWith("/merge/") ? 1 : 0;

for (const [name, changeOf] of Object.entries(changes)) {
  t.test(`${name} while a request waits for it`, async (t) => {
    for (const at of ofColumns) {
      const world = await bench.makeWorld(at);
      const before = await countObjects(world);
      const { answer, waited } = await bench.awaitRival(at, world, changeOf(world));
      t.ok(isToldWell(answer), `${at.name}: ${waited ? "waited, " : ""}${answer.status} ${answer.text}`);
      const written = answer.status === 200 ? added(at) - removed(at) : 0;
      t.equal(await countObjects(world), before + written, `${at.name}: wholly there, or not at all`);
    }
  });
}

t.test("c is deleted before any statement of a request", async (t) => {
  for (const at of ofColumns.filter(({ path }) => /:layer\/(objects|filter|structure)/.test(path))) {
    const count = await bench.statementsOf(at);
    for (let moment = 1; moment <= count; moment++) {
      const world = await bench.makeWorld(at);
      const before = await countObjects(world);
      const { answer } = await bench.overtake(at, world, changes["c is deleted"]!(world), moment);
      t.ok(
        isToldWell(answer),
        `${at.name}: before statement ${moment} of ${count}: ${answer.status} ${answer.text}`,
      );
      const written = answer.status === 200 ? added(at) - removed(at) : 0;
      t.equal(await countObjects(world), before + written, `${at.name}: wholly there, or not at all`);
    }
  }
});
