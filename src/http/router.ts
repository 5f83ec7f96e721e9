import { badRequest } from "../errors.js";
import type { Method, Route } from "./types.js";

/** The route table as a trie of path segments: a static segment beats a variable one, whatever the table's order. */

export interface Match<S> {
  readonly route: Route<S>;
  /** Decoded variable segments by name. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Router<S> {
  /**
   * The route of a path for a method, where HEAD finds GET; else the methods that the path knows (none = no such path).
   * @throws Failure bad_request when the path is not well encoded
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
  readonly leaves: Map<string, Leaf<S>>;
}

const newNode = <S>(): Node<S> => ({ fixed: new Map(), variable: undefined, leaves: new Map() });

/** Beyond any route; keeps the work for hostile paths small. */
const maxSegments = 32;

// Bytes that are no UTF-8 arrive from the server library as U+FFFD.
const damaged = /[\0\ufffd]/;

/**
 * Decoded segments of a path; one slash at the end does not count.
 * @throws Failure bad_request
 */
export function splitPath(path: string): string[] {
  if (damaged.test(path)) throw badRequest("The path is not valid UTF-8.");
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
    throw badRequest("The path is not well encoded.");
  }
  if (text.includes("\0")) throw badRequest("The path holds a NUL character.");
  return text;
}

interface Wanted {
  readonly segments: readonly string[];
  readonly method: string;
  /** Takes what stands in the place of the variable segments. */
  readonly values: string[];
}

function search<S>(node: Node<S>, depth: number, wanted: Wanted): Leaf<S> | undefined {
  const { segments, method, values } = wanted;
  if (depth === segments.length) {
    return node.leaves.get(method) ?? (method === "HEAD" ? node.leaves.get("GET") : undefined);
  }
  const segment = segments[depth] as string;
  const fixed = node.fixed.get(segment);
  const found = fixed && search(fixed, depth + 1, wanted);
  // An empty segment is none: `a//b` is no address of anything.
  if (found || !node.variable || segment === "") return found;
  values.push(segment);
  const leaf = search(node.variable, depth + 1, wanted);
  if (!leaf) values.pop();
  return leaf;
}

/** The methods that a path knows. */
function knownMethods<S>(root: Node<S>, segments: readonly string[]): Method[] {
  const known = new Set<string>();
  const collect = (node: Node<S>, depth: number): void => {
    const segment = segments[depth];
    if (segment === undefined) {
      for (const name of node.leaves.keys()) known.add(name);
      return;
    }
    const fixed = node.fixed.get(segment);
    if (fixed) collect(fixed, depth + 1);
    if (node.variable && segment !== "") collect(node.variable, depth + 1);
  };
  collect(root, 0);
  if (known.has("GET")) known.add("HEAD");
  if (known.size > 0) known.add("OPTIONS");
  return [...known] as Method[];
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
        names.push(segment.slice(1));
        node.variable ??= newNode();
        node = node.variable;
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
      const leaf = search(root, 0, { segments, method, values });
      if (!leaf) return knownMethods(root, segments);
      const params: Record<string, string> = {};
      for (let i = 0; i < leaf.names.length; i++) params[leaf.names[i] as string] = values[i] as string;
      return { route: leaf.route, params };
    },
  };
}
