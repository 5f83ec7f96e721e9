import type pg from "pg";
import { ObjectStore } from "../../src/viewer/browser/console/objects/object-store.js";
import { Operations } from "../../src/viewer/browser/console/operations.js";
import { type Layer, languages, type Place } from "./place.js";

/** What the server has: objects, and their history. */

export type Fields = Readonly<Record<string, unknown>>;

export interface Entry {
  readonly id: number;
  /** The same for all that was done together. */
  readonly group: string;
  readonly object: number;
  readonly kind: "created" | "changed" | "deleted";
  readonly by: string | null;
  /** Of an object that was deleted all values, of one that was changed those that differ. */
  readonly before: Fields | null;
  readonly after: Fields | null;
}

/** A node that was killed starts again within that. */
const tries = 600;
const betweenMs = 100;

export class Records {
  private readonly operations: Operations;

  constructor(
    place: Place,
    private readonly sql: pg.Pool,
  ) {
    let node = 0;
    this.operations = new Operations(
      { of: () => ({ login: "admin", token: place.token }) },
      () => Promise.resolve(false),
      {
        headers: () => ({}),
        // Asked until it is answered.
        fetch: async (address, init) => {
          for (let left = tries; ; left--) {
            const answer = await fetch(`${place.urls[node]}/${address}`, init).catch(() => undefined);
            if (answer && answer.status < 502) return answer;
            if (left === 0) throw new Error(`${address} is not answered`);
            node = (node + 1) % place.urls.length;
            await new Promise((resolve) => setTimeout(resolve, betweenMs));
          }
        },
      },
    );
  }

  /** The last entry of the history of everything. */
  async last(): Promise<number> {
    const { rows } = await this.sql.query(
      "select coalesce(max(id), 0) as last from mapwright.object_history",
    );
    return Number(rows[0].last);
  }

  async make(layer: Layer, fields: Fields): Promise<number> {
    const key = `${fields.mark} of the admin`.replaceAll(" ", "-");
    const { id } = await this.store(layer).save(undefined, { key, change: { fields }, match: undefined });
    return id;
  }

  read(layer: Layer, id: number) {
    return this.store(layer).read(id);
  }

  /** Ids of the objects that were made since, and are or were there with a mark that begins so. */
  async made(layer: Layer, since: number, prefix: string): Promise<readonly number[]> {
    const { rows } = await this.sql.query(
      `with made as (
         select distinct object_id as id from mapwright.object_history where layer_id = $1 and id > $2 and op = 'i')
       select id from made join layers.l${layer.id} t on t.svc_id = id where (to_jsonb(t) - 'geom' - 'geom_3857')::text like $3
       union select object_id from mapwright.object_history where layer_id = $1 and id > $2 and op = 'd' and before::text like $3
       order by 1`,
      [layer.id, since, `%"${prefix}%`],
    );
    return rows.map(({ id }) => Number(id));
  }

  /** The oldest first. */
  async history(layer: Layer, id: number): Promise<readonly Entry[]> {
    const { entries } = await this.operations.send<{ readonly entries: readonly Entry[] }>(
      "p",
      "GET",
      ["m", "layers", layer.code, "objects", String(id), "history"],
      { query: { values: 1, limit: 1000 } },
    );
    return [...entries].reverse();
  }

  private store(layer: Layer): ObjectStore {
    const of = { project: "p", map: "m" };
    return new ObjectStore(this.operations, of, layer.code, languages, layer.columns);
  }
}
