import { type ParquetScan, parquetScan, parquetSchema, type RowGroup, type SchemaElement } from "hyparquet";
import { refused } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import type { RowSink } from "../sink.js";
import { transformFrom } from "../srs.js";
import type { Cell, RowGeometry } from "./coordinate-columns.js";
import { compressors, openParquet, type ParquetFile, readParquet } from "./parquet-file.js";
import { geometryOf } from "./parquet-geometry.js";
import { hasNestedDecimals, parsers, valueWriter, type WriteValue } from "./parquet-values.js";
import type { Reader } from "./reader.js";
import { tableGeometry } from "./table-geometry.js";

/** Rows that are in memory at once. */
const batchRows = 10_000;
/** Maximum size of the nested values of a row group, which are in memory at once. */
const maxNestedBytes = 256 * 1024 ** 2;
const maxColumns = 1002;

/**
 * Reads Parquet and GeoParquet: some rows of a row group at a time, column by column. Without the metadata of GeoParquet the
 * geometry comes from columns as in other tables.
 */
export const readParquetFile: Reader = async ({ path, sink, srs }) => {
  const file = await openParquet(path);
  try {
    const schema = await readParquet(() => parquetSchema(file.metadata));
    const columns = schema.children.map((child) => child.element);
    if (columns.length > maxColumns)
      throw refused(`The file has more than ${maxColumns} columns.`, { limit: maxColumns });
    for (const child of schema.children)
      if (hasNestedDecimals(child))
        sink.note(`Decimals in the nested values of "${child.element.name}" have 15 digits at most.`);
    const geometry = geometryOf(file.metadata, columns, srs.isGiven);
    if (geometry?.crs !== undefined) sink.transform = transformFrom(geometry.crs);
    const table = new Table(columns, geometry?.column, { sink, srsIsGiven: srs.isGiven });
    for await (const values of batches(file, columns)) {
      table.begin(values);
      for (let index = 0; index < values[0]!.length; index++) {
        sink.add((row) => table.write(row, values, index));
        if (sink.isFull) await sink.flush();
      }
    }
  } finally {
    file.close();
  }
};

type Values = readonly ArrayLike<unknown>[];

/** The values of all columns for some rows, again and again until the end of the file. */
async function* batches(
  { buffer, metadata }: ParquetFile,
  columns: readonly SchemaElement[],
): AsyncGenerator<Values, void, undefined> {
  if (columns.length === 0) return;
  const options = { file: buffer, metadata, compressors, parsers, utf8: false, geoparquet: false };
  const scan = await readParquet(() => parquetScan(options));
  let groupStart = 0;
  for (const group of metadata.row_groups) {
    const groupEnd = groupStart + Number(group.num_rows);
    checkNested(group, columns);
    for (let start = groupStart; start < groupEnd; start += batchRows) {
      const end = Math.min(start + batchRows, groupEnd);
      const values = [];
      for (const element of columns)
        values.push(await readColumn(scan, element, { groupStart, groupEnd, start, end }));
      yield values;
    }
    groupStart = groupEnd;
  }
}

interface Place {
  readonly groupStart: number;
  readonly groupEnd: number;
  readonly start: number;
  readonly end: number;
}

/** Nested columns are read for the whole row group, since their pages do not tell where rows begin; the scan keeps them. */
async function readColumn(
  scan: ParquetScan,
  { name: column, num_children: nested }: SchemaElement,
  { groupStart, groupEnd, start, end }: Place,
): Promise<ArrayLike<unknown>> {
  if (nested) await readParquet(() => scan.readColumn({ column, rowStart: groupStart, rowEnd: groupEnd }));
  const values = await readParquet(() => scan.readColumn({ column, rowStart: start, rowEnd: end }));
  if (values.length !== end - start)
    throw refused(`The file is damaged: the column "${column}" has fewer values than rows.`);
  return values;
}

/** @throws Refusal when nested values would need too much memory */
function checkNested({ columns: chunks }: RowGroup, columns: readonly SchemaElement[]): void {
  const nested = new Set(columns.filter((element) => element.num_children).map(({ name }) => name));
  let bytes = 0;
  for (const { meta_data: data } of chunks)
    if (data && nested.has(data.path_in_schema[0]!)) bytes += Number(data.total_uncompressed_size);
  if (bytes > maxNestedBytes)
    throw refused(`The nested values of a row group are larger than ${maxNestedBytes / 1024 ** 2} MB.`);
}

/** Writes rows; finds the columns with coordinates in the first ones, when the file does not name its geometry. */
class Table {
  private readonly writers: readonly WriteValue[];
  private readonly names: readonly string[];
  private readonly geometryIndex: number;
  private geometry: RowGeometry | undefined;

  constructor(
    columns: readonly SchemaElement[],
    geometryColumn: string | undefined,
    private readonly task: { readonly sink: RowSink; readonly srsIsGiven: boolean },
  ) {
    this.names = columns.map(({ name }) => name);
    this.geometryIndex = geometryColumn === undefined ? -1 : this.names.indexOf(geometryColumn);
    this.writers = columns.map((element) => valueWriter(element, task.sink));
  }

  begin(values: Values): void {
    if (this.geometryIndex >= 0 || this.geometry) return;
    const rows = Math.min(values[0]!.length, 500);
    const sample = Array.from({ length: rows }, (_, index) => values.map((column) => cellOf(column[index])));
    const { sink, srsIsGiven } = this.task;
    this.geometry = tableGeometry(sink, { names: this.names, sample, srsIsGiven });
  }

  write(row: RowEncoder, values: Values, index: number): void {
    const { geometry, geometryIndex } = this;
    geometry?.write(row, (column) => cellOf(values[column]![index]));
    for (let column = 0; column < values.length; column++) {
      const value = values[column]![index];
      if (column === geometryIndex) writeGeometry(row, value);
      else if (geometry?.takes(column)) continue;
      else if (value === null || value === undefined) row.property(this.names[column]!, null);
      else this.writers[column]!(row, value);
    }
  }
}

function writeGeometry(row: RowEncoder, value: unknown): void {
  if (value instanceof Uint8Array)
    row.wkbGeometry(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
  else row.noGeometry();
}

/** WKB as hexadecimal digits, as in other tables. */
function cellOf(value: unknown): Cell {
  if (typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "string" || typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : null;
}
