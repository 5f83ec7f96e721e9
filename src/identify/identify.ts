import type { LayerNode } from "../catalog/state.js";
import type { Clock } from "../clock.js";
import { columnsOf, findColumn, type Languages, valueColumns } from "../features/column-sql.js";
import type { GeometryShape, Srid } from "../features/geometry-sql.js";
import { columnsRead, type ObjectShape, objectJson } from "../features/item.js";
import { readList } from "../features/read.js";
import { layerTable, type Statement, Values } from "../features/sql.js";
import { toDegrees } from "../geo/envelope.js";
import { Overruns } from "../hosts/overruns.js";
import { ObjectNumbers } from "../object-numbers.js";
import type { Pause } from "../queues/slices.js";
import type { Database } from "../storage/postgres.js";
import { type Cluster, type NearRow, nearStatement, type Place, type Searched } from "./near.js";

/** Which objects are drawn at a place. */

export interface FoundObject {
  readonly layer: LayerNode;
  readonly id: number;
  /** What it is drawn with, if not by itself. */
  readonly cluster?: Cluster | null;
}

/** Layers of one statement: planning time grows with the square of their number. */
const layersPerStatement = 16;
/** Characters of SQL of what their styles draw, from which on a statement has no more layers. */
const mostConditions = 128 * 1024;
/** Of all statements; of one for several layers; and of one for a layer that made such a one late. */
const deadlineMs = 8_000;
const statementMs = 4_000;
const aloneMs = 2_000;
/** Objects and layers of one answer. */
const mostObjects = 1_000;
const mostLayers = 100;

/** Layers that took too long lately. For a while they are left out; one that has changed is tried at once. */
export class SlowLayers {
  private readonly times: Overruns;
  private readonly numbers = new ObjectNumbers();

  constructor(private readonly clock: Pick<Clock, "now">) {
    this.times = new Overruns(clock);
  }

  now(): number {
    return this.clock.now();
  }

  /** Whether it took too long before, so that it keeps no others' statement. */
  has(layer: LayerNode, zoom: number): boolean {
    return this.times.has(this.key(layer, zoom));
  }

  admits(layer: LayerNode, zoom: number): boolean {
    return this.times.admits(this.key(layer, zoom));
  }

  /** It took too long, perhaps as somebody had locked it: the second time in a row counts. */
  late(layer: LayerNode, zoom: number, begun: number): void {
    this.times.suspect(this.key(layer, zoom), begun);
  }

  done(layer: LayerNode, zoom: number): void {
    this.times.done(this.key(layer, zoom));
  }

  private key(layer: LayerNode, zoom: number): string {
    return `${this.numbers.of(layer)} ${zoom}`;
  }
}

export interface SearchOptions {
  /** Of one layer. */
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly pause: Pause;
  readonly slow: SlowLayers;
  readonly zoom: number;
  /** Hears of a layer that is left out, as it cannot be read, or not in time; undefined = it was not tried. */
  readonly leftOut: (layer: LayerNode, error: unknown) => void;
}

/**
 * The objects at the place: of the first layer first, and in a layer the nearest first. At most `limit` of each layer, and
 * `mostObjects` in all.
 */
export async function objectsAt(
  db: Database,
  searched: readonly Searched[],
  place: Place,
  options: SearchOptions,
): Promise<readonly FoundObject[]> {
  const { slow, zoom, leftOut } = options;
  const until = performance.now() + deadlineMs;
  const found: FoundObject[] = [];
  let layers = 0;
  const isAlone = ({ layer }: Searched) => slow.has(layer, zoom);
  const isTried = ({ layer }: Searched) => {
    if (slow.admits(layer, zoom)) return true;
    leftOut(layer, undefined);
    return false;
  };
  for (const portion of portions(searched, isAlone)) {
    await options.pause();
    // One that is admitted is asked, else nobody would be for a while.
    const some = portion.filter(isTried);
    if (some.length === 0) continue;
    const rows = await near(db, some, place, { ...options, until, isAgain: isAlone(some[0]!) });
    for (const [n, { layer }] of some.entries()) {
      const here = atPlace(rows.filter((row) => row.n === n));
      if (here.length > 0) layers++;
      found.push(...here.map(({ id, cluster }) => ({ layer, id, cluster })));
      if (found.length >= mostObjects || layers >= mostLayers) return found.slice(0, mostObjects);
    }
  }
  return found;
}

/** What one statement asks for. */
function portions(searched: readonly Searched[], isAlone: (one: Searched) => boolean): Searched[][] {
  const all: Searched[][] = [];
  let isFull = true;
  let characters = 0;
  for (const one of searched) {
    const alone = isAlone(one);
    const last = all.at(-1);
    if (last && !isFull && !alone) last.push(one);
    else {
      all.push([one]);
      characters = 0;
    }
    characters += one.condition.length;
    isFull = alone || all.at(-1)!.length >= layersPerStatement || characters >= mostConditions;
  }
  return all;
}

/**
 * SQLSTATEs that a broken view or table, or a value of it, causes: data, external routines, names, internal errors. Others
 * would meet every layer.
 */
const ofLayer = /^(?:22|38|39|42|XX)...$/;

const queryCanceled = "57014";

interface Tried extends SearchOptions {
  /** When the time of all statements is up, by `performance.now()`. */
  readonly until: number;
  /** Whether they are late, or were with others. */
  readonly isAgain: boolean;
}

/**
 * The rows of these layers; of several in one statement that fails or is late each is asked alone, and the broken and late
 * ones are left out.
 */
async function near(
  db: Database,
  searched: readonly Searched[],
  place: Place,
  options: Tried,
): Promise<readonly NearRow[]> {
  const { limit, signal, leftOut, slow, zoom, until, isAgain } = options;
  const left = until - performance.now();
  if (left <= 0) {
    for (const { layer } of searched) leftOut(layer, undefined);
    return [];
  }
  const { text, values } = nearStatement(searched, place, limit);
  const begun = slow.now();
  try {
    const timeoutMs = Math.min(left, isAgain ? aloneMs : statementMs);
    const rows = await db.query<NearRow>(text, values, { signal, timeoutMs });
    for (const { layer } of searched) slow.done(layer, zoom);
    return rows;
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    const isLate = code === queryCanceled && !signal.aborted;
    if (!isLate && !ofLayer.test(code)) throw error;
    const [first] = searched;
    if (searched.length === 1 && first) {
      if (isLate) slow.late(first.layer, zoom, begun);
      leftOut(first.layer, error);
      return [];
    }
  }
  const rows: NearRow[] = [];
  for (const [n, one] of searched.entries())
    rows.push(...(await near(db, [one], place, { ...options, isAgain: true })).map((row) => ({ ...row, n })));
  return rows;
}

/** A point within an area is meant for it, not for areas beside it whose borders are near. */
function atPlace(rows: readonly NearRow[]): readonly NearRow[] {
  if (!rows.some(({ area, pixels }) => area && pixels === 0)) return rows;
  return rows.filter(({ area, pixels }) => !area || pixels === 0);
}

/** Which parts of objects are answered. */
export interface FoundShape {
  /** Codes of columns, of which each layer has its own; undefined = items without `fields`. */
  readonly fields: readonly string[] | "all" | undefined;
  readonly geom: GeometryShape | undefined;
  readonly bbox: Srid | undefined;
  readonly languages: Languages;
}

/** The objects as a JSON array, in their order. Those that have been deleted meanwhile are left out. */
export async function readFound(
  db: Database,
  found: readonly FoundObject[],
  shape: FoundShape,
  signal: AbortSignal,
): Promise<string | AsyncIterableIterator<string | Uint8Array>> {
  if (found.length === 0) return "[]";
  const hasGeometry = shape.geom !== undefined;
  return readList(db, {
    statement: foundStatement(found, shape),
    limit: found.length,
    text: { opening: "[", closing: "]" },
    hasGeometry,
    hasLargeObjects: hasGeometry && found.some(({ layer }) => layer.hasVertexChunks === true),
    signal,
  });
}

/** The ids are sorted first, and an object is read when its row is sent: what is sorted stays small. */
function foundStatement(found: readonly FoundObject[], { fields, ...shape }: FoundShape): Statement {
  const values = new Values();
  const layers = [...new Set(found.map(({ layer }) => layer))];
  const cases = layers.map((layer, n) => {
    const own: ObjectShape = {
      ...shape,
      fields: fields === "all" ? valueColumns(layer) : fields && columnsOf(layer, ownCodes(layer, fields)),
      readable: true,
      members: { layer: layer.code, layer_id: layer.id },
    };
    const json = objectJson(own, values);
    return `when ${n} then (select ${json} from (select ${columnsRead(own).join(",")} from ${layerTable(layer.id)} where svc_id=w$.id) o$)`;
  });
  const numbers = values.bind(`{${found.map(({ layer }) => layers.indexOf(layer)).join(",")}}`);
  const ids = values.bind(`{${found.map(({ id }) => id).join(",")}}`);
  const ends = values.bind(
    `{${found.map(({ cluster }) => JSON.stringify(cluster ? `,"cluster":${clusterJson(cluster)}}` : "}")).join(",")}}`,
  );
  const wanted =
    `select * from unnest(${numbers}::int[],${ids}::bigint[],${ends}::text[]) with ordinality u$ (n,id,ending,place) ` +
    `order by place offset 0`;
  return {
    text: `select left(o,-1)||ending as o from (select case w$.n ${cases.join(" ")} end as o,ending from (${wanted}) w$ offset 0) read$ where o is not null`,
    values: values.list,
  };
}

/** As the boxes of objects are, in degrees. */
function clusterJson({ count, box: [west, south, east, north] }: Cluster): string {
  const corner = (x: number, y: number) => [...toDegrees(x, y)].reverse();
  return JSON.stringify({ count, bbox: { sw: corner(west, south), ne: corner(east, north) } });
}

const ownCodes = (layer: LayerNode, codes: readonly string[]): string[] =>
  codes.filter((code) => findColumn(layer, code) !== undefined);
