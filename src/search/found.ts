import type { LayerNode } from "../catalog/state.js";
import type { SearchEntry } from "./entries.js";
import type { Priority } from "./phrase.js";
import type { FoundRow } from "./statements.js";

/** A search result. */
export type Hit = LayerHit | ObjectHit;

export interface LayerHit {
  readonly kind: "layer";
  readonly priority: Priority;
  /** The folded value, by which results are sorted. */
  readonly key: string;
  readonly layer: LayerNode;
  /** The layer's name in the request's language, else its code. */
  readonly name: string;
}

export interface ObjectHit {
  readonly kind: "object";
  readonly priority: Priority;
  readonly key: string;
  readonly entry: SearchEntry;
  readonly id: number;
  readonly name: string | null;
  readonly value: string | null;
}

/** Collects hits. An object found by several columns counts once, with its highest priority. */
export class Found {
  private readonly layers: LayerHit[] = [];
  private readonly objects = new Map<string, ObjectHit>();

  addLayer(hit: LayerHit): void {
    this.layers.push(hit);
  }

  addObjects(entry: SearchEntry, rows: readonly FoundRow[]): void {
    for (const { id, priority, key, name, value } of rows) {
      const object = `${entry.layer.id}/${id}`;
      const known = this.objects.get(object);
      if (known && known.priority >= priority) continue;
      this.objects.set(object, { kind: "object", priority, key, entry, id, name, value });
    }
  }

  /** How many hits have at least this priority. */
  count(least: Priority): number {
    return this.hits().filter(({ priority }) => priority >= least).length;
  }

  /** The best hits, sorted by priority, layers before objects, then by value; the sort is stable. */
  best(limit: number): Hit[] {
    const byPriorityAndValue = (a: Hit, b: Hit) =>
      b.priority - a.priority || (a.kind === b.kind ? compare(a.key, b.key) : a.kind === "layer" ? -1 : 1);
    return this.hits().sort(byPriorityAndValue).slice(0, limit);
  }

  private hits(): Hit[] {
    return [...this.layers, ...this.objects.values()];
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
