import type { Area, LayerChange } from "./layer-version.js";

/**
 * Notifications (`pg_notify`) on the channel `mapwright`. PostgreSQL delivers them to all nodes in the order of commits.
 * Triggers (`storage/functions`) and the statements of this folder send them.
 *
 *     L <layer> <version> <previous> <area> [<node>/<receipt>]
 *                                                     a layer's objects changed; area: numbers, or * for all of it
 *     M <map>, P <project>                            the catalogue changed
 *     B <node>/<receipt> [again]                      a mark without a change; again: to be acknowledged by K
 *     N <node>, D <node>, Q <node>                    a node joined, was dropped by another, left
 *     K <node> <from> <receipt> …                     `from` acknowledges these marks of `node`
 *     C, S                                            cached tiles are to be dropped; data were imported
 *     E l<layer>:<version> m<map>:<revision> …        the CDN has dropped what was before these versions
 *     T <node> <state> <receipt> …                    the CDN was told of all before these marks of `node`, or could not be:
 *                                                     state is purged or pending
 */

/** Identifies a committed transaction of a node, which waits until all nodes have received this notification. */
export interface Mark {
  readonly node: string;
  readonly receipt: string;
  /** It was not acknowledged in time: what Redis delivers may not arrive. */
  readonly isAgain?: boolean;
}

/** The version of a layer or map before which the CDN has dropped everything. */
export interface PurgedVersion {
  readonly kind: "layer" | "map";
  readonly id: number;
  readonly version: number;
}

/** Whether the CDN has dropped what an edit has made old, or will do so later. */
export type CdnState = "purged" | "pending";

export type Notification =
  | {
      readonly kind: "layer";
      readonly id: number;
      readonly change: LayerChange;
      readonly mark: Mark | undefined;
    }
  | { readonly kind: "map" | "project"; readonly id: number }
  | { readonly kind: "mark"; readonly mark: Mark }
  | { readonly kind: "joined" | "dropped" | "left"; readonly node: string }
  | {
      readonly kind: "acknowledged";
      readonly node: string;
      readonly from: string;
      readonly receipts: readonly string[];
    }
  | { readonly kind: "purged" | "imported" }
  | { readonly kind: "cdn"; readonly versions: readonly PurgedVersion[] }
  | {
      readonly kind: "told";
      readonly node: string;
      readonly state: CdnState;
      readonly receipts: readonly string[];
    }
  /** The notification of a change cannot be read: what changed has to be looked up. */
  | { readonly kind: "damaged" };

export const channel = "mapwright";

const nodeKinds = { N: "joined", D: "dropped", Q: "left" } as const;

/** Parses a payload; undefined for an unknown one, which a newer version may send. */
export function parseNotification(payload: string): Notification | undefined {
  const [kind, first = "", second, third, fourth, fifth] = payload.split(" ", 6);
  switch (kind) {
    case "L": {
      const [id, version, previous] = [first, second, third].map(Number) as [number, number, number];
      const area = areaOf(fourth ?? "*");
      // A version that is no number would be neither older nor newer than others.
      if (![id, version, previous].every(isCount)) return { kind: "damaged" };
      return {
        kind: "layer",
        id,
        change: { version, previous, area },
        mark: fifth === undefined ? undefined : markOf(fifth),
      };
    }
    case "M":
    case "P": {
      const id = Number(first);
      return isCount(id) ? { kind: kind === "M" ? "map" : "project", id } : { kind: "damaged" };
    }
    case "B": {
      const mark = markOf(first);
      return mark && { kind: "mark", mark: second === "again" ? { ...mark, isAgain: true } : mark };
    }
    case "N":
    case "D":
    case "Q":
      return { kind: nodeKinds[kind], node: first };
    case "K":
      return { kind: "acknowledged", node: first, from: second ?? "", receipts: payload.split(" ").slice(3) };
    case "C":
      return { kind: "purged" };
    case "E":
      return { kind: "cdn", versions: payload.split(" ").slice(1).flatMap(purgedVersionOf) };
    case "T":
      return {
        kind: "told",
        node: first,
        state: second === "purged" ? second : "pending",
        receipts: payload.split(" ").slice(3),
      };
    case "S":
      return { kind: "imported" };
    default:
      return undefined;
  }
}

function purgedVersionOf(text: string): PurgedVersion[] {
  const [, kind, id, version] = /^([lm])(\d+):(\d+)$/.exec(text) ?? [];
  if (kind === undefined) return [];
  return [{ kind: kind === "l" ? "layer" : "map", id: Number(id), version: Number(version) }];
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** A text that is no area counts as the whole layer: the change may be anywhere. */
function areaOf(text: string): Area {
  const numbers = text === "" ? [] : text.split(",").map(Number);
  return numbers.length % 4 === 0 && numbers.every(Number.isFinite) ? numbers : null;
}

function markOf(text: string): Mark | undefined {
  const slash = text.indexOf("/");
  return slash < 0 ? undefined : { node: text.slice(0, slash), receipt: text.slice(slash + 1) };
}
