import { loadMap, loadProject } from "../src/catalog/load.js";
import type { MapState, ProjectState } from "../src/catalog/state.js";
import { type Database, openDatabase } from "../src/storage/postgres.js";
import { mapCode } from "./import.js";
import type { World } from "./world.js";

/** The catalogue of the bench's project, for what a measure adds to it or wants to know of it. */
export interface Catalogue {
  readonly db: Database;
  readonly project: ProjectState;
  /** @throws Error when the project has no map of that code */
  map(code: string): Promise<MapState>;
}

/** Gives `work` the catalogue, on connections that are closed afterwards. */
export async function withCatalogue<T>(world: World, work: (at: Catalogue) => Promise<T>): Promise<T> {
  const { databaseUrl: url } = world.config();
  const db = openDatabase({ url, connections: 2, statementTimeoutMs: 60_000, log: world.log });
  try {
    const project = (await loadProject(db, mapCode))!;
    const map = async (code: string) => {
      const found = await loadMap(db, project, code);
      if (!found) throw new Error(`There is no map "${code}".`);
      return found;
    };
    return await work({ db, project, map });
  } finally {
    await db.close();
  }
}
