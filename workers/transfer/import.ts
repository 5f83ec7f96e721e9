import { extname, join } from "node:path";
import {
  type ImportRequest,
  type ImportResponse,
  importFormatList,
  sidecarExtensions,
} from "../../src/hosts/import-messages.js";
import { requestedEncoding } from "./encodings.js";
import { readerFor } from "./readers/formats.js";
import { Refusal } from "./refusal.js";
import { RowSink } from "./sink.js";
import { transformFrom } from "./srs.js";
import { StagingTable } from "./staging.js";

/**
 * Reads a file of geodata into a new staging table, which the caller drops. Memory use depends on the largest feature, not
 * on the length of the file.
 * @returns also errors in the file; other errors of PostgreSQL are thrown
 */
export async function importFile(request: ImportRequest): Promise<ImportResponse> {
  try {
    return await stage(request);
  } catch (error) {
    if (error instanceof Refusal)
      return { ok: false, code: error.code, error: error.message, data: error.data };
    // program_limit_exceeded: a row is larger than a page, even with TOAST.
    if ((error as { code?: string }).code === "54000") {
      return { ok: false, code: "import_failed", error: "A feature has more data than one object can hold." };
    }
    throw error;
  }
}

async function stage(request: ImportRequest): Promise<ImportResponse> {
  const datasets = datasetsOf(request.files);
  const isGiven = request.srs !== undefined && request.srs !== "";
  const srs = { isGiven, transform: isGiven ? transformFrom(request.srs!) : undefined };
  const encoding = request.encoding === undefined ? undefined : requestedEncoding(request.encoding);
  const staging = await StagingTable.create(request.databaseUrl, request.stagingTable);
  try {
    const sink = new RowSink(staging, { partial: request.partial });
    for (const { name, read } of datasets) {
      sink.transform = srs.transform;
      await read({ path: join(request.folder, name), sink, srs, encoding });
    }
    return { ok: true, ...(await sink.finish()) };
  } finally {
    await staging.close();
  }
}

/** The files with a reader, which are not parts of another one. @throws Refusal unsupported_format */
function datasetsOf(files: readonly string[]) {
  const extensionOf = (name: string) => extname(name).slice(1);
  const stems = new Set(files);
  const isSidecar = (name: string) => {
    const extension = extensionOf(name);
    const stem = name.slice(0, -extension.length);
    return Object.entries(sidecarExtensions).some(
      ([main, others]) => others.includes(extension) && stems.has(stem + main),
    );
  };
  const mains = files.filter((name) => !isSidecar(name));
  return mains.map((name) => {
    const read = readerFor(extensionOf(name));
    if (read) return { name, read };
    throw new Refusal(
      "unsupported_format",
      `Files of type "${extensionOf(name)}" cannot be imported; these can: ${importFormatList}.`,
    );
  });
}
