import type { Area, LayerChange } from "./layer-version.js";

/**
 * What the database announces on the channel `mapwright`. PostgreSQL delivers it in the order of the commits, to all
 * nodes alike. The triggers of the migrations and the statements of this folder write it.
 *
 *     L <layer> <version> <previous> <area> [<node>/<receipt>]
 *                                                     a layer's objects changed; area: numbers, or * for all of it
 *     M <map>, P <project>                            the catalogue changed
 *     B <node>/<receipt>                              a mark by itself
 *     N <node>, D <node>, Q <node>                    a node joined, was given up by another, left
 *     K <node> <from> <receipt> …                     `from` has heard these marks of `node`
 *     C, S                                            cached tiles are to be dropped; data were imported
 */

/** The end of a transaction of one of the nodes, which waits until all have heard it. */
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
      readonly kind: "heard";
      readonly node: string;
      readonly from: string;
      readonly receipts: readonly string[];
    }
  | { readonly kind: "purged" | "imported" };

export const channel = "mapwright";

const nodeKinds = { N: "joined", D: "dropped", Q: "left" } as const;

/** Reads a payload; undefined for one that is none of ours, which a later version may send. */
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
      return { kind: "heard", node: first, from: second ?? "", receipts: payload.split(" ").slice(3) };
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
