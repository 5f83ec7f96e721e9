import { readdirSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import pg from "pg";
import Cursor from "pg-cursor";
import type {
  ExportedColumn,
  ExportFileRequest,
  ExportFileResponse,
} from "../../../src/hosts/export-messages.js";
import { planFields } from "./fields.js";
import { planFiles } from "./files.js";
import type { FieldValue } from "./flatgeobuf.js";
import { Losses } from "./losses.js";
import { surveyObjects } from "./survey.js";

/** Bytes that are given to a file at once. */
const batchBytes = 4 * 1024 ** 2;
/** Room on the disk that exports leave to others. */
const reservedBytes = 64 * 1024 ** 2;

/** The files cannot be completed; the server says so to the client. */
class Unwritable extends Error {
  constructor(
    readonly reason: Extract<ExportFileResponse, { ok: false }>["reason"],
    message: string,
  ) {
    super(message);
  }
}

/**
 * Writes the objects of a layer to files, in the order of their ids and as of one moment. Memory does not depend on their
 * number. After a failure the folder may hold parts of files.
 */
export async function exportFile(request: ExportFileRequest): Promise<ExportFileResponse> {
  const client = new pg.Client({
    connectionString: request.databaseUrl,
    options:
      "-c search_path=mapwright,public -c jit=off -c timezone=UTC -c client_connection_check_interval=1000 " +
      `-c statement_timeout=${request.statementTimeoutMs}`,
    application_name: "mapwright export",
    connectionTimeoutMillis: 5_000,
  });
  // The running command rejects as well when the connection breaks.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await client.query("begin isolation level repeatable read read only");
    return await write(client, request);
  } catch (error) {
    if (error instanceof Unwritable) return { ok: false, reason: error.reason, error: error.message };
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function write(client: pg.Client, request: ExportFileRequest): Promise<ExportFileResponse> {
  const survey = await surveyObjects(client, request);
  const losses = new Losses();
  const fields = planFields(request.format, request.columns, survey.columns, losses);
  const all = [{ name: "svc_id", type: "long" } as const, ...fields.fields.map(({ field }) => field)];
  const plan = await planFiles(request, all, survey, losses);
  const converters = fields.fields.map(({ convert }) => convert);
  let objects = 0;
  try {
    for await (const rows of readRows(client, request)) {
      for (const row of rows) {
        const { file, wkb } = plan.place(row[1]);
        const values: FieldValue[] = [row[0]];
        for (let index = 0; index < converters.length; index++)
          values.push(converters[index]!(row[index + 2] as FieldValue));
        file.output.add(wkb, values);
        if (file.output.pending >= batchBytes) {
          await file.output.flush();
          checkSize(request);
        }
      }
      objects += rows.length;
    }
    for (const { output } of plan.files) await output.close();
    checkSize(request);
  } catch (error) {
    for (const { output } of plan.files) await output.abandon();
    // Drivers report a full disk and the limit of a file's size in many ways.
    checkSize(request);
    throw error;
  }
  return {
    ok: true,
    files: plan.files.flatMap(({ parts }) => parts),
    notes: [...plan.notes, ...fields.notes, ...losses.notes()],
    objects,
  };
}

type Row = [id: number, wkb: Buffer | null, ...values: FieldValue[]];

/** Rows in batches of a bounded size. */
async function* readRows(client: pg.Client, { source, columns }: ExportFileRequest): AsyncGenerator<Row[]> {
  const list = columns.map((_: ExportedColumn, index) => `,v${index}`).join("");
  const text = `select svc_id::float8,st_asbinary(g,'NDR')${list} from (${source.text}) s order by svc_id`;
  const cursor = client.query(new Cursor<Row>(text, [...source.values], { rowMode: "array" }));
  for (let size = 50; ; ) {
    const rows = await cursor.read(size);
    if (rows.length === 0) return;
    yield rows;
    const bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
    size = Math.max(1, Math.min(4 * size, 2_000, Math.floor((batchBytes * rows.length) / (bytes + 1))));
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

/** @throws Unwritable */
function checkSize(request: ExportFileRequest): void {
  const { folder, format, maxBytes, maxTotalBytes } = request;
  const sizes = sizesIn(folder);
  if (format === "shp" && sizes.some((size) => size >= 2 ** 31))
    throw new Unwritable(
      "too_large",
      "A file of the format may have no more than 2 GB. Choose fewer objects.",
    );
  if (bytesOf(folder) > maxBytes)
    throw new Unwritable(
      "too_large",
      `The files would be larger than ${maxBytes} bytes. Choose fewer objects.`,
    );
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < reservedBytes)
    throw new Unwritable("no_room", "There is no room for exported files now.");
  if (allBytes(folder) > maxTotalBytes)
    throw new Unwritable("no_room", "Too many exported files are still being sent. Try again later.");
}

/** Bytes of the files in all folders of exports, which lie beside this one and are removed at any time. */
function allBytes(folder: string): number {
  const parent = dirname(folder);
  const others = readdirSync(parent).filter((name) => name !== basename(folder));
  return others.reduce((sum, name) => sum + bytesOf(join(parent, name)), bytesOf(folder));
}

const bytesOf = (folder: string): number => sizesIn(folder).reduce((sum, size) => sum + size, 0);

function sizesIn(folder: string): number[] {
  try {
    return readdirSync(folder).map((name) => statSync(join(folder, name)).size);
  } catch {
    return [];
  }
}
