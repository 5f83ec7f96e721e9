import { readdirSync, statfsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type pg from "pg";
import { Failure } from "../../../src/errors.js";
import type { ExportFileRequest, ExportFileResponse } from "../../../src/hosts/export-messages.js";
import { connectFailed, connectionLost, isConnectionLost } from "../../../src/storage/connection-errors.js";
import { HostConnection, type HostConnectionOptions } from "../../../src/storage/host-connection.js";
import { planFields } from "./fields.js";
import { planFiles } from "./files.js";
import type { FieldValue } from "./flatgeobuf.js";
import { Losses } from "./losses.js";
import { readRows } from "./rows.js";
import { surveyObjects } from "./survey.js";
import { Unwritable } from "./unwritable.js";

/** Bytes that are given to a file at once. */
const batchBytes = 4 * 1024 ** 2;
/** Room on the disk that exports leave to others. */
const reservedBytes = 64 * 1024 ** 2;
/** Longest time for what was read at once. */
const writingMs = 600_000;

/**
 * Writes the objects of a layer to files, in the order of their ids and as of one moment. Memory does not depend on their
 * number. After a failure the folder may hold parts of files.
 */
export async function exportFile(request: ExportFileRequest): Promise<ExportFileResponse> {
  let client: pg.Client | undefined;
  try {
    const connection = await HostConnection.open(request, optionsOf(request)).catch(connectFailed);
    client = connection.client;
    await connection.begin(`isolation level repeatable read${lockOf(request)}`);
    return await write(client, request);
  } catch (error) {
    if (error instanceof Unwritable) return { ok: false, reason: error.reason, error: error.message };
    // Of the connection.
    if (error instanceof Failure) return { ok: false, reason: "away", error: error.message };
    if (isConnectionLost(error)) return { ok: false, reason: "away", error: connectionLost(error).message };
    throw error;
  } finally {
    await client?.end().catch(() => undefined);
  }
}

/** Before the moment is there: of a table that is written anew after it, by a change of its columns, no row is seen. */
const lockOf = ({ table }: ExportFileRequest): string =>
  table === undefined ? "" : `; lock table ${table} in access share mode`;

const optionsOf = ({ statementTimeoutMs }: ExportFileRequest): HostConnectionOptions => ({
  application: "mapwright export",
  settings: {
    search_path: "mapwright,public",
    jit: "off",
    timezone: "UTC",
    client_connection_check_interval: 1_000,
    statement_timeout: statementTimeoutMs,
    // Between what it reads it writes files, which takes as long as the disk does.
    idle_in_transaction_session_timeout: writingMs,
  },
  // Large rows lie unread meanwhile.
  ofConnection: { tcp_user_timeout: writingMs, default_transaction_read_only: "on" },
  isReadOnly: true,
});

async function write(client: pg.Client, request: ExportFileRequest): Promise<ExportFileResponse> {
  const survey = await surveyObjects(client, request);
  const losses = new Losses();
  const fields = planFields(request.format, request.columns, survey.columns, losses);
  const all = [{ name: "svc_id", type: "long" } as const, ...fields.fields.map(({ field }) => field)];
  const plan = await planFiles(request, all, survey, losses);
  const converters = fields.fields.map(({ convert }) => convert);
  let objects = 0;
  try {
    for await (const rows of readRows(client, request, batchBytes)) {
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
    // Files are closed for long, which is in nobody's way.
    await client.query("commit");
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
