import { type ImportRequest, type ImportResponse, importFormatList } from "../../src/hosts/messages.js";
import type { FeatureReader } from "./documents.js";
import { RowEncoder } from "./features.js";
import { readerFor } from "./formats.js";
import { Refusal } from "./refusal.js";
import { transformFrom } from "./srs.js";
import { StagingTable } from "./staging.js";

/** Approximate size of a batch of rows. */
const batchBytes = 1024 ** 2;

/**
 * Reads a file of geodata into a new staging table, which the caller drops. Memory use depends on the largest feature, not
 * on the length of the file.
 * @returns also errors in the file; other errors of PostgreSQL are thrown
 */
export async function importFile(request: ImportRequest): Promise<ImportResponse> {
  const reader = readerFor(request.extension);
  if (!reader) {
    return {
      ok: false,
      code: "unsupported_format",
      error: `Files of type "${request.extension}" cannot be imported; these can: ${importFormatList}.`,
    };
  }
  try {
    return await stage(request, reader);
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

async function stage(request: ImportRequest, reader: FeatureReader): Promise<ImportResponse> {
  const requested = request.srs === undefined || request.srs === "" ? undefined : request.srs;
  const transform = requested === undefined ? undefined : transformFrom(requested);
  const staging = await StagingTable.create(request.databaseUrl, request.stagingTable);
  try {
    let encoder = new RowEncoder(transform);
    const crs = await send(reader(request.path), encoder, staging);
    // `crs` may come after the features, so the file may have to be read twice. The request's srs takes precedence.
    const fileTransform = crs === undefined || requested !== undefined ? undefined : transformFrom(crs);
    if (fileTransform) {
      await staging.clear();
      encoder = new RowEncoder(fileTransform);
      await send(reader(request.path), encoder, staging);
    }
    return {
      ok: true,
      fields: encoder.fields.result(),
      rows: encoder.rows,
      geometryKind: encoder.kind ?? "Unknown",
      vertices: encoder.vertices,
      notes: encoder.measures
        ? ["Positions keep their heights; the numbers after them (measures) were left out."]
        : [],
    };
  } finally {
    await staging.close();
  }
}

/** Writes all features to the staging table. @returns the name of the file's spatial reference, if it has one */
async function send(
  features: ReturnType<FeatureReader>,
  encoder: RowEncoder,
  staging: StagingTable,
): Promise<string | undefined> {
  for (;;) {
    const next = features.next();
    if (next.done) {
      if (encoder.out.length > 0)
        await staging.send(encoder.out.take(encoder.out.length), encoder.fields.count);
      await staging.finish();
      return next.value;
    }
    const before = encoder.out.length;
    const columns = encoder.fields.count;
    encoder.add(next.value);
    if (encoder.fields.count > columns && before > 0) await staging.send(encoder.out.take(before), columns);
    if (encoder.out.length >= batchBytes) {
      await staging.send(encoder.out.take(encoder.out.length), encoder.fields.count);
    }
  }
}
