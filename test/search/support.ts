import pg from "pg";
import type { Test } from "tap";
import { addColumns, type NewColumn } from "../../src/catalog/columns.js";
import { createLayer } from "../../src/catalog/layers.js";
import { loadMap, loadProject } from "../../src/catalog/load.js";
import { createMap } from "../../src/catalog/maps.js";
import { createProject } from "../../src/catalog/projects.js";
import { type Caller, type MapState, publicCaller } from "../../src/catalog/state.js";
import { keepSearchIndexes, type SearchIndexes } from "../../src/search/indexes.js";
import { type SearchResult, type SearchTimes, search } from "../../src/search/search.js";
import { type Database, openDatabase } from "../../src/storage/postgres.js";
import { freshDatabase } from "../support/database.js";
import { quietLog } from "../support/log.js";

/** A map in a database of its own, whose layers are filled by SQL, for tests of the search. */

export interface SearchBench {
  readonly db: Database;
  /** Any other SQL client. */
  readonly sql: pg.Client;
  readonly mapId: number;
  map(): Promise<MapState>;
  /** A layer with these columns; gives its id and its table and physical columns by code. */
  layer(
    code: string,
    columns: readonly NewColumn[],
  ): Promise<{ id: number; table: string; physical: Record<string, string>; ids: Record<string, number> }>;
  search(
    phrase: string,
    options?: { limit?: number; language?: string; caller?: Caller },
  ): Promise<SearchResult>;
  /** Priority and name of layers, priority and value of objects. */
  found(phrase: string, limit?: number, language?: string): Promise<unknown[][]>;
  stop(): Promise<void>;
}

/** For tests of what is found: on a machine that is busy with other things as well. */
const unhurried: SearchTimes = { statementMs: 20_000, startMs: 20_000 };

/** The same with the indexes of searches. Both end with the test file. */
export async function indexedBench(t: Test): Promise<{ bench: SearchBench; indexes: SearchIndexes }> {
  const bench = await searchBench();
  const indexes = keepSearchIndexes(bench.db, quietLog);
  t.teardown(async () => {
    await indexes.stop();
    await bench.stop();
  });
  return { bench, indexes };
}

export async function searchBench(): Promise<SearchBench> {
  const database = await freshDatabase();
  const db = openDatabase({ ...database.at, connections: 4, statementTimeoutMs: 30_000, log: quietLog });
  const sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  await sql.query("set search_path = mapwright, public");
  const projectId = await createProject(db, { code: "p", languages: ["en", "ru"] });
  const mapId = await createMap(db, projectId, { code: "m" });
  const map = async () => {
    const project = await loadProject(db, "p");
    return (await loadMap(db, project!, "m"))!;
  };
  const bench: SearchBench = {
    db,
    sql,
    mapId,
    map,
    layer: async (code, columns) => {
      const { id } = await createLayer(db, mapId, { code });
      const added = await db.transaction((tx) => addColumns(tx, id, columns));
      return {
        id,
        table: `layers.l${id}`,
        physical: Object.fromEntries(added.map((column) => [column.code, column.physical])),
        ids: Object.fromEntries(added.map((column) => [column.code, column.id])),
      };
    },
    search: async (phrase, options = {}) =>
      search(
        db,
        await map(),
        {
          phrase,
          language: options.language ?? "ru",
          limit: options.limit ?? 100,
          caller: options.caller ?? publicCaller,
          signal: new AbortController().signal,
        },
        unhurried,
      ),
    found: async (phrase, limit = 100, language = "ru") =>
      (await bench.search(phrase, { limit, language })).hits.map((hit) => [
        hit.priority,
        hit.kind === "layer" ? hit.name : hit.value,
      ]),
    stop: async () => {
      await sql.end();
      await db.close();
      await database.drop();
    },
  };
  return bench;
}
