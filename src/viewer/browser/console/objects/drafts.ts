import { type DraftStorage, isMembers, KeptDrafts } from "../kept-drafts.js";
import type { Change, Values } from "./merge.js";
import type { Position, ShapeKind } from "./shape.js";

/** Changes that the server does not have yet, kept in the browser: neither a closed tab nor an ended session loses them. */

export interface Draft {
  /** Undefined = a new object. */
  readonly id: number | undefined;
  /** Names the draft of a new object. */
  readonly key: string;
  /** What the change was made of; undefined for a new object. */
  readonly base: (Values & { readonly etag: string | undefined }) | undefined;
  readonly change: Change;
  /** What is written and is no value, by column, as its control has it. */
  readonly wrong?: Readonly<Record<string, unknown>>;
  /** What was sent without an answer: whether it was done is known when it is sent once more. */
  readonly sent?: Sent;
  /** What is drawn, and not ended. */
  readonly drawn?: { readonly kind: ShapeKind; readonly positions: readonly Position[] };
}
export interface Sent {
  /** Makes sure that it is done once. */
  readonly key: string;
  readonly change: Change;
  /** The ETag of what it was meant for. */
  readonly match: string | undefined;
}

export interface DraftPlace {
  readonly login: string;
  readonly project: string;
  readonly layerId: number;
}

const prefix = "mapwright.draft:";
/** The geometry of an object is kept with a change of something else, if it is no longer. */
const mostLetters = 20_000;

/** Those of a layer. */
export class Drafts {
  private readonly kept: KeptDrafts<Draft>;
  private readonly start: string;

  /** @param time milliseconds since 1970 */
  constructor(
    { login, project, layerId }: DraftPlace,
    storage: DraftStorage | undefined,
    time?: () => number,
  ) {
    this.start = `${prefix}${JSON.stringify([login, project, layerId]).slice(0, -1)},`;
    this.kept = new KeptDrafts<Draft>({ prefix, isDraft, lighter }, storage, time);
  }

  /** Whether some of them would be lost with the page. */
  get isUnsafe(): boolean {
    return this.kept.isUnsafe;
  }

  all(): readonly Draft[] {
    return this.kept.all(this.start);
  }

  of(id: number): Draft | undefined {
    return this.kept.of(this.nameOf({ id, key: "" }));
  }

  /** @returns whether the browser keeps it: there may be no room */
  put(draft: Draft): boolean {
    return this.kept.put(this.nameOf(draft), draft);
  }

  remove(draft: Pick<Draft, "id" | "key">): void {
    this.kept.remove(this.nameOf(draft));
  }

  /** Another tab has written something. @returns the draft that it was, as it is now; undefined = it was none of these */
  heard(name: string | null, text: string | null): Draft | undefined {
    return name?.startsWith(this.start) ? this.kept.heard(name, text) : undefined;
  }

  private nameOf({ id, key }: Pick<Draft, "id" | "key">): string {
    return `${this.start}${JSON.stringify(id ?? key)}]`;
  }
}

/** Letters of geometries, which are counted once. */
const lengths = new WeakMap<object, number>();

/** Without a long geometry that was not changed: it is read again with its object. */
function lighter(draft: Draft): Draft {
  const { base, change } = draft;
  if (!base?.geom || change.geom !== undefined) return draft;
  const letters = lengths.get(base.geom) ?? JSON.stringify(base.geom).length;
  lengths.set(base.geom, letters);
  return letters > mostLetters ? { ...draft, base: { ...base, geom: null } } : draft;
}

/** How deep the positions of a geometry lie in its coordinates. */
const depths: Readonly<Record<string, number>> = {
  ...{ Point: 0, LineString: 1, Polygon: 2 },
  ...{ MultiPoint: 1, MultiLineString: 2, MultiPolygon: 3 },
};

const isPosition = (value: unknown): boolean =>
  Array.isArray(value) && value.length > 1 && value.every((each) => typeof each === "number");
const arePositions = (value: unknown, depth: number): boolean =>
  depth === 0
    ? isPosition(value)
    : Array.isArray(value) && value.every((each) => arePositions(each, depth - 1));

function isGeometry(value: unknown): boolean {
  if (!isMembers(value)) return false;
  const { type, coordinates, geometries } = value;
  if (type === "GeometryCollection") return Array.isArray(geometries) && geometries.every(isGeometry);
  const depth = depths[String(type)];
  return depth !== undefined && arePositions(coordinates, depth);
}

/** Of an object, or of a change of one. */
const areValues = (value: unknown): boolean =>
  isMembers(value) && isMembers(value.fields) && (value.geom == null || isGeometry(value.geom));

const isDraft = ({ id, key, base, change, wrong, sent, drawn }: Partial<Draft>): boolean =>
  (id === undefined || typeof id === "number") &&
  typeof key === "string" &&
  areValues(change) &&
  (base === undefined || areValues(base)) &&
  (wrong === undefined || isMembers(wrong)) &&
  (sent === undefined || (typeof sent?.key === "string" && areValues(sent.change))) &&
  (drawn === undefined ||
    (["Point", "LineString", "Polygon"].includes(drawn?.kind) && arePositions(drawn.positions, 1)));
