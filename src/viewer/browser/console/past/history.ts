import type { Edits } from "../edits.js";
import { newKey } from "../new-key.js";
import type { Thing } from "./things.js";

/** What was done in a project, as the server has kept it. All that asks it throws ServerError. */

export type StructureKind = "created" | "changed" | "deleted" | "restored";
export type ObjectsKind = "created" | "changed" | "deleted" | "added" | "replaced" | "emptied";

interface Kept {
  readonly id: number;
  /** The same for all that was done in one request. */
  readonly group: string;
  /** In ISO 8601. */
  readonly at: string;
  /** Login; null = it is not known. */
  readonly by: string | null;
}
interface Values {
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}
/** Of a map, folder, layer or column. */
export interface StructureChange extends Kept {
  readonly kind: Thing;
  readonly change: StructureKind;
  readonly code: string;
  readonly map: string;
  readonly layer: string | null;
  /** Names of what differs. */
  readonly members: readonly string[];
}
interface ObjectChange extends Kept {
  readonly kind: ObjectsKind;
  readonly layer: string;
  readonly object: number | null;
  readonly count: number | null;
}
/** Of objects of a layer, in one request. */
export interface ObjectsChange extends Kept {
  /** "changed" for several kinds at once. */
  readonly kind: ObjectsKind;
  readonly layer: string;
  /** The only one; null = there are several. */
  readonly object: number | null;
  /** null = it is not known how many. */
  readonly count: number | null;
}
export class History {
  constructor(
    private readonly edits: Edits,
    private readonly project: string,
  ) {}

  /** A page, newest first. @param map undefined = all maps @param before only those with lower ids */
  async structure(
    map: string | undefined,
    limit: number,
    before?: number,
  ): Promise<readonly StructureChange[]> {
    const query = { limit, before, map };
    const { entries } = await this.get<StructureChange>([], query);
    return entries;
  }

  /** As `structure`, of single objects: see `together`. */
  async objects(map: string, limit: number, before?: number): Promise<readonly ObjectChange[]> {
    const { entries } = await this.get<ObjectChange>([map], { limit, before });
    return entries;
  }

  /** What was there before a change, and after it. */
  async valuesOf(change: StructureChange | ObjectsChange, objectsOf: string | undefined): Promise<Values> {
    const place = "change" in change ? [] : [objectsOf!, "layers", change.layer];
    const query = { before: change.id + 1, limit: 1, values: 1 };
    const { entries } = await this.get<Kept & Values>(place, query);
    const [found] = entries;
    return found?.id === change.id ? found : { before: null, after: null };
  }

  undoStructure({ id }: StructureChange): Promise<unknown> {
    return this.edits.send(this.project, "POST", ["history", String(id), "undo"], {
      body: {},
      key: newKey(),
    });
  }

  /** Undoes all that was done to objects of the layer in that request. */
  undoObjects(map: string, { id, layer }: ObjectsChange): Promise<unknown> {
    const place = [map, "layers", layer, "history", String(id), "undo"];
    return this.edits.send(this.project, "POST", place, { body: { group: 1 }, key: newKey() });
  }

  private get<Entry>(
    place: readonly string[],
    query: Readonly<Record<string, string | number | undefined>>,
  ): Promise<{ readonly entries: readonly Entry[] }> {
    return this.edits.send(this.project, "GET", [...place, "history"], { query });
  }
}

/** Joins what was done to objects of one layer in one request. */
export function together(changes: readonly ObjectChange[]): readonly ObjectsChange[] {
  const joined: ObjectsChange[] = [];
  for (const change of changes) {
    const last = joined.at(-1);
    if (last?.group !== change.group || last.layer !== change.layer) {
      joined.push(change);
      continue;
    }
    const count = last.count === null || change.count === null ? null : last.count + change.count;
    const kind = last.kind === change.kind ? change.kind : "changed";
    joined[joined.length - 1] = { ...last, kind, count, object: null };
  }
  return joined;
}
