import { badRequest } from "../errors.js";
import type { Method, Route } from "./types.js";

/**
 * The route table as a trie of path segments. A static segment takes precedence over a variable one, independent of the
 * order of the table and of the method, so that a path always belongs to one route path.
 */

export interface Match<S> {
  readonly route: Route<S>;
  /** Decoded variable segments by name. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Router<S> {
  /**
   * The route for a path and method; HEAD falls back to GET. Without a match, the methods of the path (empty = unknown path).
   * @throws Failure bad_request when the path has invalid encoding
   */
  find(path: string, method: string): Match<S> | readonly Method[];
}

interface Leaf<S> {
  readonly route: Route<S>;
  readonly names: readonly string[];
}

interface Node<S> {
  readonly fixed: Map<string, Node<S>>;
  variable: Node<S> | undefined;
  /** All segments that are left, as one value. */
  rest: Node<S> | undefined;
  readonly leaves: Map<string, Leaf<S>>;
}

const newNode = <S>(): Node<S> => ({
  fixed: new Map(),
  variable: undefined,
  rest: undefined,
  leaves: new Map(),
});

/** More than any route has; limits the work for malicious paths. */
const maxSegments = 32;

// The server library replaces invalid UTF-8 by U+FFFD.
const invalidCharacters = /[\0\ufffd]/;

/**
 * Decoded segments of a path; one trailing slash is ignored.
 * @throws Failure bad_request
 */
function splitPath(path: string): string[] {
  if (invalidCharacters.test(path)) throw badRequest("The path is not valid UTF-8.");
  const segments = path.split("/", maxSegments + 2);
  segments.shift();
  if (segments.length > 0 && segments.at(-1) === "") segments.pop();
  return path.includes("%") ? segments.map(decodeSegment) : segments;
}

function decodeSegment(segment: string): string {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch {
    throw badRequest("The path has invalid percent-encoding.");
  }
  if (text.includes("\0")) throw badRequest("The path contains a NUL character.");
  return text;
}

/**
 * The node that the segments lead to, if it has a route.
 * @param values receives the values of the variable segments
 */
function search<S>(
  node: Node<S>,
  depth: number,
  segments: readonly string[],
  values: string[],
): Node<S> | undefined {
  if (depth === segments.length) return node.leaves.size > 0 ? node : undefined;
  const segment = segments[depth] as string;
  const fixed = node.fixed.get(segment);
  const found = fixed && search(fixed, depth + 1, segments, values);
  // A variable segment is never empty: `a//b` has no route.
  if (found || segment === "") return found;
  if (node.variable) {
    values.push(segment);
    const end = search(node.variable, depth + 1, segments, values);
    if (end) return end;
    values.pop();
  }
  if (!node.rest || segments.includes("", depth)) return undefined;
  values.push(segments.slice(depth).join("/"));
  return node.rest;
}

/** The methods of a node, for Allow. */
function methodsOf<S>({ leaves }: Node<S>): Method[] {
  const methods = [...leaves.keys()] as Method[];
  if (leaves.has("GET")) methods.push("HEAD");
  return [...methods, "OPTIONS"];
}

/**
 * Builds the trie.
 * @throws Error when two routes have the same path and method
 */
export function createRouter<S>(routes: readonly Route<S>[]): Router<S> {
  const root = newNode<S>();
  for (const route of routes) {
    const names: string[] = [];
    let node = root;
    for (const segment of splitPath(route.path)) {
      if (segment.startsWith(":")) {
        const isRest = segment.endsWith("*");
        const kind = isRest ? "rest" : "variable";
        names.push(segment.slice(1, isRest ? -1 : undefined));
        node[kind] ??= newNode();
        node = node[kind];
      } else {
        let next = node.fixed.get(segment);
        if (!next) {
          next = newNode();
          node.fixed.set(segment, next);
        }
        node = next;
      }
    }
    for (const method of route.methods) {
      if (node.leaves.has(method)) throw new Error(`Two routes for ${method} ${route.path}`);
      node.leaves.set(method, { route, names });
    }
  }
  return {
    find(path, method) {
      const segments = splitPath(path);
      if (segments.length > maxSegments) return [];
      const values: string[] = [];
      const end = search(root, 0, segments, values);
      if (!end) return [];
      const leaf = end.leaves.get(method) ?? (method === "HEAD" ? end.leaves.get("GET") : undefined);
      if (!leaf) return methodsOf(end);
      const params: Record<string, string> = {};
      for (let i = 0; i < leaf.names.length; i++) params[leaf.names[i] as string] = values[i] as string;
      return { route: leaf.route, params };
    },
  };
}
