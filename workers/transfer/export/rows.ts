import type pg from "pg";
import type { ExportedColumn, ExportFileRequest } from "../../../src/hosts/export-messages.js";
import { openCursor } from "../../../src/storage/partial-cursor.js";
import type { FieldValue } from "./flatgeobuf.js";

/** Reads the objects of an export. */

/** Geometry as little-endian ISO WKB. */
export type Row = [id: number, wkb: Buffer | null, ...values: FieldValue[]];

/**
 * Rows in the order of their ids, in batches of a bounded size. While the caller works on a batch, PostgreSQL makes the next:
 * that halves the time on two cores.
 * @param batchBytes about how many a batch has; two are in memory
 */
export async function* readRows(
  client: pg.Client,
  { source, columns }: ExportFileRequest,
  batchBytes: number,
): AsyncGenerator<Row[]> {
  const list = columns.map((_: ExportedColumn, index) => `,v${index}`).join("");
  const text = `select svc_id::float8,st_asbinary(g,'NDR')${list} from (${source.text}) s order by svc_id`;
  const cursor = openCursor<Row>(client, text, [...source.values], { rowMode: "array" });
  let size = 50;
  let next = cursor.next(size);
  for (;;) {
    const rows = await next;
    if (!rows) return;
    const bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
    size = Math.max(1, Math.min(4 * size, 2_000, Math.floor((batchBytes * rows.length) / (bytes + 1))));
    next = cursor.next(size);
    // The request for the next batch gets its error; after a failure there is none.
    next.catch(() => undefined);
    yield rows;
  }
}

function rowBytes(row: Row): number {
  let bytes = 100 + (row[1]?.length ?? 0);
  for (let index = 2; index < row.length; index++) {
    const value = row[index];
    if (typeof value === "string") bytes += value.length;
  }
  return bytes;
}
