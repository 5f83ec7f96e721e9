import type { LayerNode } from "../catalog/state.js";
import type { SearchEntry } from "./entries.js";
import type { Priority } from "./phrase.js";
import type { FoundRow } from "./statements.js";

/** A search result. */
export type Hit = LayerHit | ObjectHit;

export interface LayerHit {
  readonly kind: "layer";
  readonly priority: Priority;
  /** How well it matches among those of the same priority (`rank.ts`). */
  readonly rank: number;
  /** The folded value, by which results are sorted. */
  readonly key: string;
  readonly layer: LayerNode;
  /** The layer's name in the request's language, else its code. */
  readonly name: string;
}

export interface ObjectHit {
  readonly kind: "object";
  readonly priority: Priority;
  readonly rank: number;
  readonly weight: number | null;
  readonly key: string;
  readonly entry: SearchEntry;
  readonly id: number;
  readonly name: string | null;
  readonly value: string | null;
  readonly detail: string | null;
}

/** Collects hits. An object found by several columns counts once, with its best match. */
export class Found {
  private readonly layers = new Map<number, LayerHit>();
  private readonly objects = new Map<string, ObjectHit>();

  addLayer(hit: LayerHit): void {
    this.layers.set(hit.layer.id, hit);
  }

  addObjects(entry: SearchEntry, rows: readonly FoundRow[]): void {
    for (const { total: _, ...row } of rows) {
      const object = `${entry.layer.id}/${row.id}`;
      const known = this.objects.get(object);
      if (known && (known.priority - row.priority || known.rank - row.rank) >= 0) continue;
      this.objects.set(object, { kind: "object", entry, ...row });
    }
  }

  /**
   * Adds hits with words like those of the phrase, whose rank puts them first. What was found before, at best with the phrase's
   * words as parts of words, is worth no more then.
   */
  addNear(near: Found): void {
    const isNew = <Key>(known: ReadonlyMap<Key, Hit>, key: Key) => known.get(key)?.priority !== 20;
    const hasNew =
      [...near.layers.keys()].some((layer) => isNew(this.layers, layer)) ||
      [...near.objects.keys()].some((object) => isNew(this.objects, object));
    if (!hasNew) return;
    const equal = <Kind extends Hit>(hit: Kind): Kind => ({ ...hit, priority: 10 });
    for (const [layer, hit] of this.layers) this.layers.set(layer, equal(hit));
    for (const [layer, hit] of near.layers) this.layers.set(layer, hit);
    for (const [object, hit] of this.objects) this.objects.set(object, equal(hit));
    for (const [object, hit] of near.objects) this.objects.set(object, hit);
  }

  /** How many hits have at least this priority, and exact ones or those of at least this rank. */
  count(least: Priority, leastRank = 0): number {
    return this.hits().filter(
      ({ priority, rank }) => priority >= least && (priority === 30 || rank >= leastRank),
    ).length;
  }

  /**
   * The best hits, sorted by priority, layers before objects, then by how well they match, by weight and by value; the sort is
   * stable.
   */
  best(limit: number): Hit[] {
    return this.hits().sort(byWorth).slice(0, limit);
  }

  private hits(): Hit[] {
    return [...this.layers.values(), ...this.objects.values()];
  }
}

const weightOf = (hit: Hit): number =>
  (hit.kind === "object" ? hit.weight : null) ?? Number.NEGATIVE_INFINITY;

const byWorth = (a: Hit, b: Hit): number =>
  b.priority - a.priority ||
  Number(b.kind === "layer") - Number(a.kind === "layer") ||
  b.rank - a.rank ||
  compare(weightOf(b), weightOf(a)) ||
  compare(a.key, b.key);

const compare = <Value extends string | number>(a: Value, b: Value): number => (a < b ? -1 : a > b ? 1 : 0);
