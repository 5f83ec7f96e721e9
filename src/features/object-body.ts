import { createHash } from "node:crypto";
import type { LayerNode } from "../catalog/state.js";
import { badRequest, Failure } from "../errors.js";
import { IgnoredMembers, type Known } from "../ignored-members.js";
import { type JsonLimits, parseJson, parseJsonList } from "../json.js";
import { type BulkPlan, type BulkRules, buffersOf, readBulk } from "./bulk-body.js";
import type { Languages } from "./column-sql.js";
import { type Assignment, readFields } from "./fields.js";
import { encodeGeometry } from "./geometry.js";
import type { Srid } from "./geometry-sql.js";

/**
 * What the body of a request that saves an object means. Small ones are read where they are received; of large ones
 * `readTask` makes what PostgreSQL takes as it is, in another thread (`workers/body`).
 */

export interface GeometryRules {
  /** Coordinate reference system of the positions. */
  readonly srid: Srid;
  readonly layer: Pick<LayerNode, "geometryKind">;
}

export interface ObjectRules extends GeometryRules {
  readonly layer: Pick<LayerNode, "geometryKind" | "columns">;
  readonly languages: Languages;
  /** The object to change; undefined = a new one. */
  readonly id?: number | undefined;
}

/** As the client sent it. */
export interface SentObject {
  readonly fields?: unknown;
  readonly geom?: unknown;
}

export interface SavedObject {
  readonly assignments: readonly Assignment[];
  /** EWKB; null = no geometry; undefined = unchanged. */
  readonly geom: Buffer | null | undefined;
  /** Members that are not known, of a body that was read in another thread. */
  readonly ignored?: string | undefined;
}

/** @throws Failure as `readFields`; invalid_geometry */
export function readObject(sent: SentObject, rules: ObjectRules): SavedObject {
  const { layer, languages, id } = rules;
  // `fields` is optional only if the geometry is changed.
  const isGeometryOnly = id !== undefined && sent.fields === undefined && sent.geom !== undefined;
  return {
    assignments: readFields(layer, { fields: isGeometryOnly ? {} : sent.fields, languages, id }),
    geom: sent.geom === undefined ? undefined : readGeometry(sent.geom, rules),
  };
}

/** EWKB of a geometry; null for none. @throws Failure invalid_geometry */
export const readGeometry = (sent: unknown, { srid, layer }: GeometryRules): Buffer | null =>
  sent === null ? null : encodeGeometry(sent, { srid, kind: layer.geometryKind });

/** A large body, in the parts in which it came, and what is to be made of it. */
export type BodyTask = { readonly parts: readonly Uint8Array[]; readonly limits: JsonLimits } & (
  | { readonly kind: "object"; readonly rules: ObjectRules }
  | { readonly kind: "geometry"; readonly rules: GeometryRules }
  | { readonly kind: "bulk"; readonly rules: BulkRules }
  /** Hash of `start` and the body, of which a member `token` is no part. */
  | { readonly kind: "digest"; readonly start: string }
);

export interface BodyResults {
  readonly object: {
    readonly assignments: readonly PackedAssignment[];
    readonly geom: Packed | undefined;
    readonly ignored: string | undefined;
  };
  readonly geometry: Packed;
  readonly bulk: BulkPlan;
  readonly digest: string;
}
type Packed = Uint8Array | null;

export interface BodyAnswer {
  /** Those of the task: they are moved between threads, not copied. */
  readonly parts: readonly Uint8Array[];
  readonly result?: BodyResults[keyof BodyResults];
  readonly failure?: Pick<Failure, "kind" | "code" | "message" | "data">;
}

/** An assignment with its column as an index, and long texts as UTF-8, which PostgreSQL takes as they are. */
type PackedAssignment = Pack<Assignment>;
type Pack<A> = A extends Assignment ? Omit<A, "column"> & { readonly at: number } : never;

/** The answer, and the memory that is moved with it. Failures are part of it. */
export function readTask(task: BodyTask): { readonly answer: BodyAnswer; readonly moved: ArrayBuffer[] } {
  const { parts } = task;
  const moved = parts.map(bufferOf);
  try {
    const result = resultOf(task, Buffer.concat(parts), moved);
    return { answer: { parts, result }, moved };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const { kind, code, message, data } = error;
    return { answer: { parts, failure: { kind, code, message, data } }, moved };
  }
}

function resultOf(task: BodyTask, bytes: Buffer, moved: ArrayBuffer[]): BodyResults[keyof BodyResults] {
  const move = (geom: Buffer | null): Packed => {
    if (geom) moved.push(bufferOf(geom));
    return geom;
  };
  switch (task.kind) {
    case "object": {
      const sent = parseJson(bytes, task.limits);
      if (!isObject(sent)) throw badRequest("The body must be a JSON object.");
      const { assignments, geom } = readObject(
        { fields: own(sent, "fields"), geom: own(sent, "geom") },
        task.rules,
      );
      const { columns } = task.rules.layer;
      const ignored = new IgnoredMembers();
      ignored.look(sent, knownOfObject);
      return {
        assignments: assignments.map((one) => packed(one, columns.indexOf(one.column), moved)),
        geom: geom && move(geom),
        ignored: ignored.header,
      };
    }
    case "geometry":
      return move(readGeometry(parseJson(bytes, task.limits), task.rules));
    case "bulk": {
      const plan = readBulk(parseJsonList(bytes, task.limits), task.rules);
      moved.push(...buffersOf(plan));
      return plan;
    }
    case "digest":
      return digestOf(task, bytes);
  }
}

const knownOfObject: Known = { members: new Map(["fields", "geom", "token"].map((name) => [name, {}])) };

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const own = (object: object, name: string): unknown =>
  Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined;

function digestOf({ limits, start }: Extract<BodyTask, { kind: "digest" }>, bytes: Buffer): string {
  const hash = createHash("sha256").update(start);
  // Most bodies have no such name, not even with escapes, and need not be parsed.
  if (!bytes.includes('"token"') && !bytes.includes("\\u")) return hash.update(bytes).digest("base64url");
  const sent = parsed(bytes, limits);
  if (!isObject(sent) || !Object.hasOwn(sent, "token")) return hash.update(bytes).digest("base64url");
  const { token: _token, ...others } = sent as Record<string, unknown>;
  return hash.update(JSON.stringify(others)).digest("base64url");
}

/** Undefined when it cannot be parsed: the request is refused for it elsewhere. */
function parsed(bytes: Buffer, limits: JsonLimits): unknown {
  try {
    return parseJson(bytes, limits);
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** Longer texts are moved between threads as bytes. */
const longText = 16 * 1024;

function packed(assignment: Assignment, at: number, moved: ArrayBuffer[]): PackedAssignment {
  const pack = <T>(value: T): T | Buffer => {
    if (typeof value !== "string" || value.length < longText || assignment.column.type === "file")
      return value;
    const bytes = Buffer.from(value);
    moved.push(bufferOf(bytes));
    return bytes;
  };
  const { column, ...others } = assignment;
  switch (others.kind) {
    case "set": {
      const { bound } = others;
      // The binary form of jsonb is a text after the number of its version.
      if (column.type === "json" && typeof bound === "string" && bound.length >= longText)
        return { ...others, at, bound: pack(`\u0001${bound}`) };
      return { ...others, at, bound: pack(bound) };
    }
    case "replace": {
      const texts = Object.fromEntries(
        Object.entries(others.texts).map(([language, text]) => [language, pack(text)]),
      );
      return { ...others, at, texts, json: pack(others.json) };
    }
    case "merge": {
      // Of a value that is no text or number only `json` is stored.
      const value = typeof others.value === "object" && others.value !== null ? {} : pack(others.value);
      return { ...others, at, value, json: pack(others.json) };
    }
  }
}

/** The memory of bytes, which holds nothing else. */
function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return bytes.buffer as ArrayBuffer;
}

/** An object as the other thread packed it. */
export const unpackedObject = (
  { assignments, geom, ignored }: BodyResults["object"],
  { layer }: ObjectRules,
): SavedObject => ({
  ignored,
  assignments: assignments.map((one) => unpackedAssignment(one, layer)),
  geom: geom && asBuffer(geom),
});

function unpackedAssignment(
  { at, ...others }: PackedAssignment,
  { columns }: Pick<LayerNode, "columns">,
): Assignment {
  const column = columns[at]!;
  switch (others.kind) {
    case "set":
      return { ...others, column, bound: unpacked(others.bound) };
    case "replace": {
      const texts = Object.entries(others.texts).map(([language, text]) => [language, unpacked(text)]);
      return { ...others, column, texts: Object.fromEntries(texts), json: unpacked(others.json) };
    }
    case "merge":
      return { ...others, column, value: unpacked(others.value), json: unpacked(others.json) };
  }
}

/** Bytes become a Buffer again, which `pg` sends as it is. */
const unpacked = <T>(value: T): T => (value instanceof Uint8Array ? (asBuffer(value) as T) : value);

export const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
