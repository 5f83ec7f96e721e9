import { isUtf8 } from "node:buffer";
import type { ParquetParsers, SchemaElement, SchemaTree } from "hyparquet";
import { badFeature } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import type { RowSink } from "../sink.js";

/** Values of Parquet files as properties, without a digit lost. */

const text = new TextDecoder();

/** Advanced types as text, since a date of JavaScript has no microseconds. */
export const parsers: Partial<ParquetParsers> = {
  timestampFromMilliseconds: (millis) => momentText(BigInt(millis) * 1_000_000n),
  timestampFromMicroseconds: (micros) => momentText(BigInt(micros) * 1000n),
  timestampFromNanoseconds: (nanos) => momentText(BigInt(nanos)),
  dateFromDays: (days) =>
    days === undefined ? undefined : momentText(BigInt(days) * 86_400_000_000_000n).slice(0, -10),
  jsonFromBytes: (bytes) => bytes && new JsonText(text.decode(bytes)),
  geometryFromBytes: (bytes) => bytes,
  geographyFromBytes: (bytes) => bytes,
};

class JsonText {
  constructor(readonly text: string) {}
}

const nanosPerDay = 86_400_000_000_000n;

/** @param nanos since 1970; more than six decimals are kept, so that nothing is lost before the caller knows */
function momentText(nanos: bigint | undefined): string {
  if (nanos === undefined) return "";
  const day = nanos / nanosPerDay - (nanos % nanosPerDay < 0n ? 1n : 0n);
  const date = new Date(Number(day) * 86_400_000);
  if (Number.isNaN(date.getTime())) return String(nanos);
  return `${date.toISOString().slice(0, -14)}T${timeText(nanos - day * nanosPerDay)}Z`;
}

/** @param nanos since midnight */
function timeText(nanos: bigint): string {
  const two = (value: bigint) => String(value).padStart(2, "0");
  const seconds = nanos / 1_000_000_000n;
  const rest = nanos % 1_000_000_000n;
  const fraction =
    rest === 0n
      ? ""
      : `.${String(rest)
          .padStart(9, "0")
          .replace(/(000){1,2}$/, "")}`;
  return `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}${fraction}`;
}

export type WriteValue = (row: RowEncoder, value: unknown) => void;

/**
 * How the values of a column become a property. Called before the file's values are read: decimals are taken as they are
 * stored, since the library makes doubles of them.
 */
export function valueWriter(element: SchemaElement, sink: RowSink): WriteValue {
  const { name, logical_type: type } = element;
  // The library reads these by the older of the two type annotations.
  if (type?.type === "DATE" || type?.type === "JSON") element.converted_type = type.type;
  if (element.num_children) return (row, value) => writeNested(row, name, value);
  if (isDecimal(element)) {
    const scale = element.scale ?? (element.logical_type as { scale?: number } | undefined)?.scale ?? 0;
    dropType(element);
    return (row, value) => row.untyped(name, decimalText(value, scale));
  }
  const nanosPerUnit = timeUnit(element);
  if (nanosPerUnit !== undefined)
    return (row, value) => row.property(name, timeText(BigInt(value as number | bigint) * nanosPerUnit));
  if (element.converted_type === "BSON" || element.converted_type === "INTERVAL") dropType(element);
  return (row, value) => writeValue(row, name, value, sink);
}

function writeValue(row: RowEncoder, name: string, value: unknown, sink: RowSink): void {
  if (typeof value === "bigint") row.untyped(name, String(value));
  else if (typeof value === "number" || typeof value === "boolean") row.property(name, value);
  else if (typeof value === "string") row.property(name, withMicroseconds(value, sink));
  else if (value instanceof Uint8Array && isUtf8(value)) row.property(name, text.decode(value));
  else if (value instanceof Uint8Array) {
    row.property(name, null);
    sink.note(`The column "${name}" has binary values, which were left out.`);
  } else writeNested(row, name, value);
}

const nanoseconds = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})\d{3}Z$/;

function withMicroseconds(value: string, sink: RowSink): string {
  const match = nanoseconds.exec(value);
  if (!match) return value;
  sink.note("Times have microseconds at most; their nanoseconds were left out.");
  return `${match[1]}Z`;
}

function writeNested(row: RowEncoder, name: string, value: unknown): void {
  const json = jsonText(value, 0);
  if (value instanceof JsonText || json.startsWith("{") || json.startsWith("[")) row.json(name, json);
  else row.property(name, json);
}

/** Recursive: the depth of values is that of the schema, or of JSON that has been parsed. */
function jsonText(value: unknown, depth: number): string {
  if (depth > 100) throw badFeature("a value is nested deeper than 100 levels");
  if (value instanceof JsonText) return value.text.trim();
  if (value === null || value === undefined) return "null";
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array)
    return JSON.stringify(Buffer.from(value).toString(isUtf8(value) ? "utf8" : "hex"));
  if (ArrayBuffer.isView(value)) return jsonText([...(value as unknown as Iterable<unknown>)], depth);
  if (Array.isArray(value)) return `[${value.map((item) => jsonText(item, depth + 1)).join(",")}]`;
  if (typeof value === "object") {
    const members = Object.entries(value).map(
      ([key, item]) => `${JSON.stringify(key)}:${jsonText(item, depth + 1)}`,
    );
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

/** Whether values within those of a column are decimals, which the library makes doubles of. */
export const hasNestedDecimals = ({ children }: SchemaTree): boolean =>
  children.some((child) => isDecimal(child.element) || hasNestedDecimals(child));

const isDecimal = ({ converted_type, logical_type }: SchemaElement): boolean =>
  converted_type === "DECIMAL" || logical_type?.type === "DECIMAL";

function dropType(element: SchemaElement): void {
  delete element.converted_type;
  delete element.logical_type;
}

/** Nanoseconds in the unit of a time of day. */
function timeUnit({ converted_type, logical_type }: SchemaElement): bigint | undefined {
  if (logical_type?.type === "TIME")
    return logical_type.unit === "MILLIS" ? 1_000_000n : logical_type.unit === "MICROS" ? 1000n : 1n;
  if (converted_type === "TIME_MILLIS") return 1_000_000n;
  return converted_type === "TIME_MICROS" ? 1000n : undefined;
}

function decimalText(value: unknown, scale: number): string {
  const unscaled = value instanceof Uint8Array ? signed(value) : BigInt(value as number | bigint);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  const whole = digits.slice(0, digits.length - scale);
  const sign = unscaled < 0n ? "-" : "";
  return scale > 0 ? `${sign}${whole}.${digits.slice(-scale)}` : `${sign}${whole}`;
}

/** Two's complement, big-endian. */
const signed = (bytes: Uint8Array): bigint =>
  bytes.length === 0
    ? 0n
    : BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
