import { requireGeometry } from "../catalog/required.js";
import type { Column, LayerNode } from "../catalog/state.js";
import { Failure, failed, Reasons, refusedValues, required } from "../errors.js";
import { IgnoredMembers, type Known } from "../ignored-members.js";
import type { Languages } from "./column-sql.js";
import { type Assignment, listedFiles, mayBecomeEmpty, readFields } from "./fields.js";
import { encodeGeometry } from "./geometry.js";
import type { Srid } from "./geometry-sql.js";

/**
 * What the body of many edits means: each is read as one alone would be. Those that one statement can do are put together, as
 * PostgreSQL takes them, so that the thread that sends them has little to do.
 */

export const bulkOperations = ["create", "update", "delete"] as const;
export type BulkOperation = (typeof bulkOperations)[number];

export interface BulkRules {
  readonly srid: Srid;
  readonly languages: Languages;
  readonly layer: Pick<LayerNode, "geometryKind" | "columns">;
}

/** Edits that are done by one statement: of different objects, with values of the same columns. */
export interface BulkRun {
  readonly operation: BulkOperation;
  /** The edits, as their places in the body. */
  readonly items: Int32Array;
  /** Indexes of columns, and whether all languages are replaced, or one is set. */
  readonly columns: readonly { readonly at: number; readonly kind: Assignment["kind"] }[];
  /** An array literal of texts for each of the columns. */
  readonly values: readonly Uint8Array[];
  /** Likewise of geometries, as EWKB in hexadecimal; undefined = unchanged. */
  readonly geometries: Uint8Array | undefined;
  /** Columns that may lose their last value, with the edits that take one away. */
  readonly emptied: readonly { readonly at: number; readonly items: Int32Array }[];
}

export interface BulkPlan {
  /** Of each edit: index of the operation, and the object; of a new one 0. */
  readonly operations: Uint8Array;
  readonly ids: Float64Array;
  /** In an order in which edits of the same object follow each other as they do in the body. */
  readonly runs: readonly BulkRun[];
  /** Files that edits list. */
  readonly files: readonly { readonly item: number; readonly at: number; readonly ids: readonly number[] }[];
  /** Members of edits that are not known. */
  readonly ignored: string | undefined;
}

const known: Known = {
  items: { members: new Map(["op", "id", "fields", "geom"].map((name) => [name, {}])) },
};

const mostItems = 100_000;
/** Edits of one object. */
const mostRounds = 100;
/** Different sets of columns. */
const mostShapes = 1_000;
/** Of one statement. */
const rowsAtOnce = 2_000;
const charactersAtOnce = 1024 ** 2;
/** Refused edits that are told. */
const mostRefused = 20;

interface Edit {
  readonly operation: BulkOperation;
  readonly id: number | undefined;
  readonly assignments: readonly Assignment[];
  readonly geom: Buffer | null | undefined;
}

/** @throws Failure as of the first edit that cannot be done, with `data.index` and `data.items` */
export function readBulk(sent: readonly unknown[], rules: BulkRules): BulkPlan {
  if (sent.length > mostItems) throw failed("invalid_value", `There are at most ${mostItems} edits at once.`);
  const refusals = new Refusals();
  const plan = new Planner(sent.length, rules);
  for (const [item, one] of sent.entries()) {
    try {
      plan.add(item, readEdit(one, rules));
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      refusals.add(item, error);
    }
    if (refusals.isFull) break;
  }
  refusals.throwIfAny();
  const ignored = new IgnoredMembers();
  ignored.look(sent, known);
  return { ...plan.finish(), ignored: ignored.header };
}

/** Edits that cannot be done. The failure is that of the first. */
export class Refusals {
  private readonly found: { readonly index: number; readonly failure: Failure }[] = [];

  /** @param index place of the edit in the body, from 0 */
  add(index: number, failure: Failure): void {
    this.found.push({ index, failure });
  }

  get isFull(): boolean {
    return this.found.length >= mostRefused;
  }

  throwIfAny(): void {
    this.found.sort((one, other) => one.index - other.index);
    const [first] = this.found;
    if (!first) return;
    const items = this.found
      .slice(0, mostRefused)
      .map(({ index, failure: { kind, code, message, data } }) => ({
        index,
        code: code ?? kind,
        message,
        data,
      }));
    const { kind, code, message, data } = first.failure;
    throw new Failure(kind, code, `Edit ${first.index + 1}: ${message}`, {
      ...data,
      index: first.index,
      items,
    });
  }
}

function readEdit(sent: unknown, { layer, languages, srid }: BulkRules): Edit {
  if (typeof sent !== "object" || sent === null || Array.isArray(sent))
    throw failed("invalid_value", "Each edit must be a JSON object.");
  const own = (name: string): unknown =>
    Object.hasOwn(sent, name) ? (sent as Record<string, unknown>)[name] : undefined;
  const operation = bulkOperations.find((one) => one === own("op"));
  if (!operation) {
    if (own("op") === undefined) throw required(["op"]);
    throw failed("invalid_value", `op must be one of ${bulkOperations.join(", ")}.`, { parameter: "op" });
  }
  const id = operation === "create" ? undefined : readId(own("id"));
  if (operation === "delete") return { operation, id, assignments: [], geom: undefined };
  const [fields, geometry] = [own("fields"), own("geom")];
  // As of single edits: without `fields` only the geometry of an object can be changed.
  const isGeometryOnly = id !== undefined && fields === undefined && geometry !== undefined;
  const assignments = readFields(layer, { fields: isGeometryOnly ? {} : fields, languages, id });
  // undefined = unchanged, null = none.
  const geom =
    geometry === undefined || geometry === null
      ? geometry
      : encodeGeometry(geometry, { srid, kind: layer.geometryKind });
  requireGeometry(layer, id === undefined ? (geom ?? null) : geom);
  return { operation, id, assignments, geom };
}

function readId(given: unknown): number {
  if (given === undefined || given === null) throw required(["id"]);
  const id = typeof given === "string" && /^-?\d{1,16}$/.test(given) ? Number(given) : given;
  if (typeof id === "number" && Number.isSafeInteger(id)) return id;
  throw failed("invalid_value", "id must be a whole number.", { parameter: "id" });
}

/** Edits with values of the same columns, before they are a run. */
interface Group {
  readonly operation: BulkOperation;
  readonly columns: BulkRun["columns"];
  readonly hasGeometry: boolean;
  items: number[];
  texts: string[][];
  geometries: string[];
  emptied: Map<number, number[]>;
  characters: number;
}

class Planner {
  private readonly operations: Uint8Array;
  private readonly ids: Float64Array;
  private readonly places: ReadonlyMap<Column, number>;
  private readonly rounds: { readonly groups: Map<string, Group>; readonly runs: BulkRun[] }[] = [];
  private readonly roundsOf = new Map<number, number>();
  private readonly shapes = new Set<string>();
  private readonly files: { item: number; at: number; ids: readonly number[] }[] = [];

  constructor(count: number, { layer }: BulkRules) {
    this.operations = new Uint8Array(count);
    this.ids = new Float64Array(count);
    this.places = new Map(layer.columns.map((column, at) => [column, at]));
  }

  add(item: number, edit: Edit): void {
    const { operation, id, geom } = edit;
    this.operations[item] = bulkOperations.indexOf(operation);
    this.ids[item] = id ?? 0;
    const listed = listedFiles(edit.assignments);
    if (id === undefined && listed.length > 0)
      throw refusedValues(
        Reasons.of(listed[0]!.column.code, `The object has no file ${listed[0]!.ids[0]} in this column.`),
      );
    for (const { column, ids } of listed) this.files.push({ item, at: this.at(column), ids });
    // A new object has no values that are to be taken away.
    const assignments =
      id === undefined ? edit.assignments.filter((one) => textOf(one) !== undefined) : edit.assignments;
    const round = this.round(id);
    const group = this.group(round, edit, assignments);
    group.items.push(item);
    for (const [index, one] of assignments.entries()) {
      const text = textOf(one);
      const element = text === undefined ? "NULL" : quoted(text);
      group.texts[index]!.push(element);
      group.characters += element.length;
    }
    if (group.hasGeometry) {
      const hex = geom ? geom.toString("hex") : "NULL";
      group.geometries.push(hex);
      group.characters += hex.length;
    }
    if (id !== undefined)
      for (const column of mayBecomeEmpty(assignments)) {
        const at = this.at(column);
        const known = group.emptied.get(at);
        if (known) known.push(item);
        else group.emptied.set(at, [item]);
      }
    if (group.items.length >= rowsAtOnce || group.characters >= charactersAtOnce) this.close(round, group);
  }

  finish(): Omit<BulkPlan, "ignored"> {
    for (const round of this.rounds) for (const group of round.groups.values()) this.close(round, group);
    const runs = this.rounds.flatMap((round) => round.runs);
    return { operations: this.operations, ids: this.ids, runs, files: this.files };
  }

  private at(column: Column): number {
    return this.places.get(column)!;
  }

  /** The second edit of an object comes after the first of every object, and so on. */
  private round(id: number | undefined) {
    const number = id === undefined ? 0 : (this.roundsOf.get(id) ?? 0);
    if (number >= mostRounds)
      throw failed("invalid_value", `An object can be edited at most ${mostRounds} times at once.`);
    if (id !== undefined) this.roundsOf.set(id, number + 1);
    this.rounds[number] ??= { groups: new Map(), runs: [] };
    return this.rounds[number];
  }

  private group(
    { groups }: { readonly groups: Map<string, Group> },
    { operation, id, geom }: Edit,
    assignments: readonly Assignment[],
  ): Group {
    const hasGeometry = id === undefined ? Boolean(geom) : geom !== undefined;
    const columns = assignments.map(({ column, kind }) => ({ at: this.at(column), kind }));
    const key = `${operation} ${hasGeometry} ${columns.map(({ at, kind }) => `${at}${kind}`).join()}`;
    const known = groups.get(key);
    if (known) return known;
    if (this.shapes.size >= mostShapes && !this.shapes.has(key))
      throw failed("invalid_value", `There are at most ${mostShapes} different sets of columns at once.`);
    this.shapes.add(key);
    const made: Group = { operation, columns, hasGeometry, ...emptyGroup(columns.length) };
    groups.set(key, made);
    return made;
  }

  private close({ runs }: { readonly runs: BulkRun[] }, group: Group): void {
    const { operation, columns, hasGeometry, items, texts, geometries, emptied } = group;
    if (items.length === 0) return;
    runs.push({
      operation,
      columns,
      items: Int32Array.from(items),
      values: texts.map(arrayLiteral),
      geometries: hasGeometry ? arrayLiteral(geometries) : undefined,
      emptied: [...emptied].map(([at, emptying]) => ({ at, items: Int32Array.from(emptying) })),
    });
    Object.assign(group, emptyGroup(columns.length));
  }
}

const emptyGroup = (columns: number) => ({
  items: [],
  texts: Array.from({ length: columns }, () => []),
  geometries: [],
  emptied: new Map<number, number[]>(),
  characters: 0,
});

/** What PostgreSQL reads the value from; undefined = null. */
function textOf(assignment: Assignment): string | undefined {
  const value = assignment.kind === "set" ? assignment.bound : assignment.json;
  if (value === null) return undefined;
  return Array.isArray(value) ? `{${value.join(",")}}` : String(value);
}

const quoted = (text: string): string => `"${text.replace(/[\\"]/g, "\\$&")}"`;

const utf8 = new TextEncoder();

/** UTF-8 in memory of its own, so that it can be moved to another thread. */
export const arrayLiteral = (elements: readonly (string | number)[]): Uint8Array =>
  utf8.encode(`{${elements.join(",")}}`);

/** The memory of a plan. */
export const buffersOf = ({ operations, ids, runs }: BulkPlan): ArrayBuffer[] =>
  [
    operations,
    ids,
    ...runs.flatMap(({ items, values, geometries, emptied }) => [
      items,
      ...values,
      ...(geometries ? [geometries] : []),
      ...emptied.map((one) => one.items),
    ]),
  ].map(({ buffer }) => buffer as ArrayBuffer);
