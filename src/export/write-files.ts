import { createReadStream } from "node:fs";
import type { HostAddress } from "../database-hosts.js";
import { busy } from "../errors.js";
import type { ExportFileRequest, FileFormat } from "../hosts/export-messages.js";
import { removeQuietly } from "../remove-quietly.js";
import type { ContentFile, ExportContent, FileExports, FormatWriter } from "./export-content.js";
import { exportedBytes, makeExportFolder } from "./export-folders.js";
import { type ExportSource, exportSource } from "./export-source.js";

/** Formats that the export host writes to files, which are then sent and removed. */

/** The writer of a format. */
export const fileWriter =
  (format: FileFormat): FormatWriter =>
  async ({ db, files }, target, request) => {
    const source = await exportSource(db, target, request);
    // The host looks at what is really there; this refuses before the export waits in its queue.
    if ((await exportedBytes(files.folder)) + files.limits.fileBytes > files.limits.totalBytes)
      throw busy("Too many exported files are still being sent. Try again later.");
    const folder = await makeExportFolder(files.folder);
    const done = () => removeQuietly(folder);
    try {
      const written = await files.host.write(
        hostRequest(files, {
          ...db.address,
          format,
          source,
          layer: target.layer.code,
          srid: request.srid,
          folder,
        }),
        { project: target.map.project.id, client: request.client ?? "", signal: request.signal },
      );
      request.signal.throwIfAborted();
      request.onObjects?.(written.objects);
      return { files: contentFiles(written.files), notes: [...source.notes, ...written.notes], done };
    } catch (error) {
      await done();
      throw error;
    }
  };

const hostRequest = (
  { limits }: FileExports,
  {
    source,
    ...rest
  }: Pick<ExportFileRequest, "format" | "layer" | "srid" | "folder" | keyof HostAddress> & {
    readonly source: ExportSource;
  },
): ExportFileRequest => ({
  ...rest,
  source: source.statement,
  table: source.table,
  columns: source.columns,
  maxBytes: limits.fileBytes,
  maxTotalBytes: limits.totalBytes,
  statementTimeoutMs: limits.deadlineMs,
});

function contentFiles(written: readonly { ending: string; path: string }[]): ExportContent["files"] {
  const [first, ...others] = written.map(
    ({ ending, path }): ContentFile => ({ ending, chunks: fileChunks(path) }),
  );
  if (!first) throw new Error("The export host has written no file.");
  return [first, ...others];
}

/** The file is opened when it is read. */
async function* fileChunks(path: string): AsyncGenerator<Uint8Array, void> {
  yield* createReadStream(path, { highWaterMark: 256 * 1024 });
}
