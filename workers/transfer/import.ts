import { type ImportRequest, type ImportResponse, importFormatList } from "../../src/hosts/messages.js";
import type { FeatureReader } from "./documents.js";
import { RowEncoder } from "./features.js";
import { readerFor } from "./formats.js";
import { Refusal } from "./refusal.js";
import { transformFrom } from "./srs.js";
import { StagingTable } from "./staging.js";

/** Rows are sent in batches of about this size. */
const batchBytes = 1024 ** 2;

/**
 * Reads a file of geodata into a new staging table, which the caller drops. Memory does not depend on the file's
 * length, only on its largest feature.
 * @throws what PostgreSQL throws; everything that is wrong with the file is an answer
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
    // program_limit_exceeded: a row is larger than a page, even with its long values stored elsewhere.
    if ((error as { code?: string }).code === "54000") {
      return { ok: false, code: "import_failed", error: "A feature has more data than one object can hold." };
    }
    throw error;
  }
}

async function stage(request: ImportRequest, reader: FeatureReader): Promise<ImportResponse> {
  const asked = request.srs === undefined || request.srs === "" ? undefined : request.srs;
  const transform = asked === undefined ? undefined : transformFrom(asked);
  const staging = await StagingTable.create(request.databaseUrl, request.stagingTable);
  try {
    let encoder = new RowEncoder(transform);
    const named = await send(reader(request.path), encoder, staging);
    // The file may name its spatial reference after its features; the caller's word counts more.
    const own = named === undefined || asked !== undefined ? undefined : transformFrom(named);
    if (own) {
      await staging.clear();
      encoder = new RowEncoder(own);
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

/** Stages every feature; the name of the spatial reference that the file gives. */
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
