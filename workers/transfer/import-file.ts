import { statfsSync } from "node:fs";
import { extname, join } from "node:path";
import { Failure, isDiskFull, noRoomText } from "../../src/errors.js";
import {
  type FileFormat,
  type ImportProgress,
  type ImportRequest,
  type ImportResponse,
  importFormatList,
  isImportable,
  isRasterExtension,
  sidecarExtensions,
} from "../../src/hosts/import-messages.js";
import { connectionLost, isConnectionLost } from "../../src/storage/connection-errors.js";
import { type Unpacked, unpack, unpackKmz } from "./archive.js";
import { requestedEncoding } from "./encodings.js";
import { importRaster } from "./raster/import-raster.js";
import { readerFor } from "./readers/formats.js";
import { Refusal, refused } from "./refusal.js";
import { RowSink } from "./sink.js";
import { projectionFrom } from "./srs.js";
import { StagingTable } from "./staging.js";
import { type Dataset, requireOneTable, type Table, tableNamed, tablesOf } from "./tables.js";
import { ByteBudget } from "./zip-archive.js";

/**
 * Reads a file of geodata into a new staging table, which the caller drops. Memory use depends on the largest feature, not
 * on the length of the file.
 * @returns also errors in the file, and that the disk is full or the database away; other errors are thrown
 */
export async function importFile(request: ImportRequest, tell: TellProgress): Promise<ImportResponse> {
  try {
    return await stage(request, tell);
  } catch (error) {
    // Of the connection, as `StagingTable` reports it.
    if (error instanceof Failure) return { ok: false, code: "busy", error: error.message };
    if (isConnectionLost(error)) return { ok: false, code: "busy", error: connectionLost(error).message };
    if (error instanceof Refusal)
      return { ok: false, code: error.code, error: error.message, data: error.data };
    // program_limit_exceeded: a row is larger than a page, even with TOAST.
    if ((error as { code?: string }).code === "54000") {
      return { ok: false, code: "import_failed", error: "A feature has more data than one object can hold." };
    }
    if (isDiskFull(error) || isFull(request.folder))
      return { ok: false, code: "import_failed", error: noRoomText };
    throw error;
  }
}

/** GDAL reports a full disk in many ways. */
function isFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize < fullBytes;
}

/** What may be left of a full disk. */
const fullBytes = 1024 ** 2;

/** Files of an archive that are described. */
const describedFiles = 100;

/** Characters of a title; names of layers are shorter. */
const mostTitle = 1_000;

type TellProgress = (progress: ImportProgress) => void;

async function stage(request: ImportRequest, tell: TellProgress): Promise<ImportResponse> {
  const budget = new ByteBudget(request.maxUnpackedBytes);
  const { files: unpacked, clientNames, notes: archiveNotes } = await unpackAll(request, budget);
  const { files, image, notes: imageNotes } = imagesOf(unpacked);
  const notes = [...archiveNotes, ...imageNotes];
  if (image !== undefined) {
    if (request.table !== undefined)
      throw new Refusal("invalid_value", "An image has no tables.", { parameter: "table" });
    const { folder, rasterBox, maxRasterBytes } = request;
    const srs = request.srs || undefined;
    const imported = importRaster({
      folder,
      files,
      name: image,
      srs,
      box: rasterBox,
      maxBytes: maxRasterBytes,
    });
    return { ...imported, notes: [...notes, ...imported.notes] };
  }
  const nameOf = (file: string) => clientNames[unpacked.indexOf(file)]!;
  const { datasets: all, orphans } = datasetsOf(files, nameOf);
  const isGiven = request.srs !== undefined && request.srs !== "";
  const projection = isGiven ? projectionFrom(request.srs!) : undefined;
  const srs = { isGiven, transform: projection?.transform };
  const encoding = request.encoding === undefined ? undefined : requestedEncoding(request.encoding);
  const only = await onlyTable(request, all, encoding);
  const datasets = only ? [only.dataset] : all;
  const staging = await StagingTable.create(request, request.stagingTable);
  try {
    const sink = new RowSink(staging, { partial: request.partial, coordinates: request.coordinates, tell });
    for (const note of notes) sink.note(note);
    for (const extension of orphans) sink.note(`${orphanReason(extension)} It was not read.`);
    const read: FileFormat[] = [];
    for (const { name, format, read: readFile } of datasets) {
      sink.begin(srs.transform);
      const path = join(request.folder, name);
      await readFile({ path, sink, srs, encoding, budget, table: only?.own });
      if (read.length < describedFiles) read.push({ format, layers: sink.described() });
    }
    projection?.requireMetres();
    const title = only?.name ?? (datasets.length === 1 ? sink.title?.slice(0, mostTitle) : undefined);
    return { ok: true, ...(await sink.finish()), ...(title && { title }), files: read };
  } finally {
    await staging.close();
  }
}

/**
 * The table that is read, of files that may have several; undefined = all of them.
 * @throws Refusal when there is none of that name, or one is wanted and there are several
 */
async function onlyTable(
  { folder, table, isOneTable, maxUnpackedBytes }: ImportRequest,
  datasets: readonly Dataset[],
  encoding: string | undefined,
): Promise<Table | undefined> {
  if (table === undefined && !isOneTable) return undefined;
  const tables = await tablesOf(datasets, ({ name }) => ({
    ...{ path: join(folder, name), encoding },
    // What is unpacked to look at it is unpacked once more to read it.
    budget: new ByteBudget(maxUnpackedBytes),
  }));
  if (table !== undefined) return tableNamed(tables, table);
  requireOneTable(tables);
  return undefined;
}

/** Unpacks the archives. @returns the files that are none, and those of the archives */
async function unpackAll(
  { folder, files, clientNames }: ImportRequest,
  budget: ByteBudget,
): Promise<Unpacked> {
  const notes: string[] = [];
  let unpacked = files.map((name, index) => ({ name, clientName: clientNames[index] ?? name }));
  // An archive may hold .kmz, which are archives too.
  for (const [extension, unpackOne] of [["zip", unpack] as const, ["kmz", unpackKmz] as const]) {
    const others: typeof unpacked = [];
    for (const file of unpacked) {
      if (extensionOf(file.name) !== extension) {
        others.push(file);
        continue;
      }
      const archive = await unpackOne({ folder, archive: file.name }, budget);
      for (const [index, name] of archive.files.entries()) {
        // The document of a KMZ file is usually called doc.kml, which tells nothing.
        const clientName = extension === "kmz" && index === 0 ? file.clientName : archive.clientNames[index]!;
        others.push({ name, clientName });
      }
      notes.push(...archive.notes);
    }
    unpacked = others;
  }
  return {
    files: unpacked.map(({ name }) => name),
    clientNames: unpacked.map(({ clientName }) => clientName),
    notes,
  };
}

/**
 * The files with a reader, which are not parts of another one, and the extensions of parts without the file that they belong
 * to.
 * @throws Refusal unsupported_format; import_failed when there are only parts
 */
function datasetsOf(files: readonly string[], clientNameOf: (file: string) => string) {
  const mains = files.filter((name) => !isSidecar(name, files));
  const datasets: Dataset[] = [];
  const orphans: string[] = [];
  for (const name of mains) {
    const extension = extensionOf(name);
    const found = readerFor(extension);
    if (found) datasets.push({ name, clientName: clientNameOf(name), ...found });
    else if (isImportable(extension)) orphans.push(extension);
    else {
      throw new Refusal(
        "unsupported_format",
        `Files of type "${extension}" cannot be imported; these can: ${importFormatList}.`,
      );
    }
  }
  if (datasets.length === 0) throw refused(orphanReason(orphans[0]!));
  return { datasets, orphans };
}

/**
 * The image to be imported, if there are images and nothing else. Beside features they are pictures for something else, such
 * as the icons of a KML file.
 * @returns also the files that are left, without such pictures
 * @throws Refusal import_failed for several images
 */
function imagesOf(files: readonly string[]): {
  readonly files: readonly string[];
  readonly image: string | undefined;
  readonly notes: readonly string[];
} {
  const mains = files.filter((name) => !isSidecar(name, files));
  const images = mains.filter((name) => isRasterExtension(extensionOf(name)));
  if (images.length === 0) return { files, image: undefined, notes: [] };
  if (mains.some((name) => readerFor(extensionOf(name)) !== undefined)) {
    const others = files.filter((name) => !images.includes(name));
    return { files: others, image: undefined, notes: [`Images that were not read: ${images.length}.`] };
  }
  if (images.length === 1 && mains.length === 1) return { files, image: images[0], notes: [] };
  throw refused("An image is imported alone, with its world file: a raster layer holds one.");
}

const extensionOf = (name: string): string => extname(name).slice(1);

/** Whether the file belongs to another one of the same name. */
function isSidecar(name: string, files: readonly string[]): boolean {
  const extension = extensionOf(name);
  const stem = name.slice(0, -extension.length);
  return Object.entries(sidecarExtensions).some(
    ([main, others]) => others.includes(extension) && files.includes(stem + main),
  );
}

function orphanReason(extension: string): string {
  const mains = Object.entries(sidecarExtensions).filter(([, others]) => others.includes(extension));
  const names = mains.map(([main]) => (isRasterExtension(main) ? "an image" : `a file .${main}`));
  return `A file .${extension} belongs to ${[...new Set(names)].join(" or ")} of the same name, which is missing.`;
}
