import { open } from "node:fs/promises";
import type { SchemaElement } from "hyparquet";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import type { Field, FieldType, FieldValue } from "./flatgeobuf.js";
import { geometryColumn } from "./geo-metadata.js";
import type { Output } from "./output.js";

/** Writes Parquet files, a row group with each flush. */

type Cell = bigint | number | boolean | string | Uint8Array | null;

interface ColumnType {
  readonly element: Omit<SchemaElement, "name" | "repetition_type">;
  /** The value as it is stored. */
  readonly cell: (value: NonNullable<FieldValue>) => Cell;
}

/** JSON has the newer type annotation alone: by the older one the library would write the text as a JSON string. */
const columnTypes: Readonly<Record<FieldType, ColumnType>> = {
  long: { element: { type: "INT64" }, cell: (value) => BigInt(value) },
  double: { element: { type: "DOUBLE" }, cell: Number },
  bool: { element: { type: "BOOLEAN" }, cell: (value) => value === true },
  text: { element: { type: "BYTE_ARRAY", converted_type: "UTF8" }, cell: String },
  json: {
    element: { type: "BYTE_ARRAY", logical_type: { type: "JSON" } },
    cell: (value) => Buffer.from(String(value)),
  },
  datetime: {
    element: {
      type: "INT64",
      converted_type: "TIMESTAMP_MICROS",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    },
    cell: (value) => microsecondsOf(String(value)) ?? null,
  },
};

/** @param geo the metadata of GeoParquet */
export async function parquetOutput(path: string, fields: readonly Field[], geo: string): Promise<Output> {
  const writer = new ByteWriter();
  const elements = fields.map(
    ({ name, type }): SchemaElement => ({ name, repetition_type: "OPTIONAL", ...columnTypes[type].element }),
  );
  const parquet = new ParquetWriter({
    writer,
    schema: [
      { name: "schema", num_children: fields.length + 1 },
      ...elements,
      { name: geometryColumn, type: "BYTE_ARRAY", repetition_type: "OPTIONAL" },
    ],
    kvMetadata: [{ key: "geo", value: geo }],
    createdBy: "Mapwright",
  });
  const file = await open(path, "wx", 0o600);
  const write = async () => {
    await file.writeFile(writer.getBytes());
    writer.index = 0;
  };
  let columns: Cell[][] = [];
  let geometries: (Uint8Array | null)[] = [];
  let pending = 0;
  const begin = () => {
    columns = fields.map(() => []);
    geometries = [];
    pending = 0;
  };
  begin();
  const flush = async () => {
    if (geometries.length === 0) return;
    const data = fields.map(({ name }, index) => ({ name, data: columns[index]! }));
    await parquet.write({
      // Smallest and largest bytes of geometries help nobody.
      columnData: [...data, { name: geometryColumn, data: geometries, statistics: false }],
      rowGroupSize: geometries.length,
    });
    begin();
    await write();
  };
  return {
    add: (wkb, values) => {
      geometries.push(wkb);
      pending += 8 * (values.length + 1) + (wkb?.length ?? 0);
      for (const [index, { type }] of fields.entries()) {
        const value = values[index] ?? null;
        columns[index]!.push(value === null ? null : columnTypes[type].cell(value));
        if (typeof value === "string") pending += value.length;
      }
    },
    get pending() {
      return pending;
    },
    flush,
    close: async () => {
      await flush();
      await parquet.finish();
      await write();
      await file.close();
    },
    abandon: () => file.close().catch(() => undefined),
  };
}

/** Microseconds since 1970 of a time as PostgreSQL writes it in UTC; undefined for infinity and years before Christ. */
export function microsecondsOf(text: string): bigint | undefined {
  const [, year, rest, fraction = ""] =
    /^(\d{4,6})(-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?Z$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  const milliseconds = Date.parse(`${year.length > 4 ? `+${year.padStart(6, "0")}` : year}${rest}Z`);
  return Number.isNaN(milliseconds)
    ? undefined
    : BigInt(milliseconds) * 1_000n + BigInt(fraction.padEnd(6, "0"));
}
