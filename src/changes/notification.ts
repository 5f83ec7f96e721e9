import type { Area, LayerChange } from "./layer-version.js";

/**
 * Notifications (`pg_notify`) on the channel `mapwright`. PostgreSQL delivers them to all nodes in the order of commits.
 * They are sent by the triggers of the migrations and the statements of this folder.
 *
 *     L <layer> <version> <previous> <area> [<node>/<receipt>]
 *                                                     a layer's objects changed; area: numbers, or * for all of it
 *     M <map>, P <project>                            the catalogue changed
 *     B <node>/<receipt>                              a mark without a change
 *     N <node>, D <node>, Q <node>                    a node joined, was dropped by another, left
 *     K <node> <from> <receipt> …                     `from` acknowledges these marks of `node`
 *     C, S                                            cached tiles are to be dropped; data were imported
 */

/** Identifies a committed transaction of a node, which waits until all nodes have received this notification. */
export interface Mark {
  readonly node: string;
  readonly receipt: string;
}

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
  | { readonly kind: "purged" | "imported" };

export const channel = "mapwright";

const nodeKinds = { N: "joined", D: "dropped", Q: "left" } as const;

/** Parses a payload; undefined for an unknown one, which a newer version may send. */
export function parseNotification(payload: string): Notification | undefined {
  const [kind, first = "", second, third, fourth, fifth] = payload.split(" ", 6);
  switch (kind) {
    case "L":
      return {
        kind: "layer",
        id: Number(first),
        change: { version: Number(second), previous: Number(third), area: areaOf(fourth ?? "*") },
        mark: fifth === undefined ? undefined : markOf(fifth),
      };
    case "M":
      return { kind: "map", id: Number(first) };
    case "P":
      return { kind: "project", id: Number(first) };
    case "B": {
      const mark = markOf(first);
      return mark && { kind: "mark", mark };
    }
    case "N":
    case "D":
    case "Q":
      return { kind: nodeKinds[kind], node: first };
    case "K":
      return { kind: "acknowledged", node: first, from: second ?? "", receipts: payload.split(" ").slice(3) };
    case "C":
      return { kind: "purged" };
    case "S":
      return { kind: "imported" };
    default:
      return undefined;
  }
}

const areaOf = (text: string): Area => (text === "*" ? null : text === "" ? [] : text.split(",").map(Number));

function markOf(text: string): Mark | undefined {
  const slash = text.indexOf("/");
  return slash < 0 ? undefined : { node: text.slice(0, slash), receipt: text.slice(slash + 1) };
}
