import { createWriteStream } from "node:fs";
import { extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { isImportable } from "../../src/hosts/import-messages.js";
import { networkLinks } from "./kml-links.js";
import { refused } from "./refusal.js";
import { type ArchivedFile, type ByteBudget, shown, ZipArchive } from "./zip-archive.js";

/** Unpacks the files of an archive that can be imported, under names that are made here. */

/** Number of files that a message lists. */
const listedFiles = 10;
/** Archives in the archive; `.kmz` is a format like others. */
const archives: ReadonlySet<string> = new Set(["zip", "7z", "rar", "gz", "tgz", "tar", "bz2", "xz"]);
/** Files that systems and programs add to what people put into an archive. */
const junk =
  /(^|\/)(__MACOSX\/.*|\.[^/]*|Thumbs\.db|desktop\.ini|README(\.\w+)?|[^/]*\.(sbn|sbx|qix|qpj|qml|qmd|atx|lock|(shp|aux|tab)\.xml|ovr|vrt))$/i;

export interface Unpacked {
  /** Names in the folder. Files that had the same name before the extension have it here too. */
  readonly files: readonly string[];
  /** What each of them is called in the archive, in the same order. */
  readonly clientNames: readonly string[];
  /** Sentences on files that were left out. */
  readonly notes: readonly string[];
}

interface Place {
  readonly folder: string;
  /** Name of the archive in the folder. */
  readonly archive: string;
}

/**
 * @throws Refusal when the archive is damaged, unsafe or too large, has two files of one name, or holds nothing that can be
 *   imported
 */
export async function unpack({ folder, archive }: Place, budget: ByteBudget): Promise<Unpacked> {
  return ZipArchive.use(join(folder, archive), budget, async (zip) => {
    const inner = zip.files.find(({ name }) => archives.has(extensionOf(name)) && !junk.test(name));
    if (inner) throw refused(`The archive holds another archive, ${shown(inner.name)}.`);
    const wanted = withoutTexts(
      zip.files.filter(({ name }) => isImportable(extensionOf(name)) && !junk.test(name)),
    );
    if (wanted.length === 0)
      throw refused(`The archive holds no file that can be imported. It holds: ${listed(zip.files)}.`);
    const names = namesOfOurs(wanted, `${archive.slice(0, -extname(archive).length)}-`);
    for (const [index, file] of wanted.entries()) await write(zip, file, join(folder, names[index]!));
    const others = zip.files.filter((file) => !wanted.includes(file) && !junk.test(file.name));
    const notes = others.length === 0 ? [] : [`Files of the archive that were not read: ${listed(others)}.`];
    return { files: names, clientNames: wanted.map(({ name }) => name), notes };
  });
}

/** A `.txt` beside other data tells about it; alone it is a table. */
function withoutTexts(files: readonly ArchivedFile[]): readonly ArchivedFile[] {
  const others = files.filter(({ name }) => extensionOf(name) !== "txt");
  return others.length > 0 ? others : files;
}

/**
 * Unpacks the document of a KMZ file: `doc.kml`, else its first KML file, and the files of the archive that it links to.
 * @throws Refusal
 */
export async function unpackKmz({ folder, archive }: Place, budget: ByteBudget): Promise<Unpacked> {
  return ZipArchive.use(join(folder, archive), budget, async (zip) => {
    const documents = zip.files.filter(({ name }) => extensionOf(name) === "kml" && !junk.test(name));
    const document = documents.find(({ name }) => name.toLowerCase() === "doc.kml") ?? documents[0];
    if (!document) throw refused(`The KMZ file holds no KML. It holds: ${listed(zip.files)}.`);
    const nameOf = (index: number) => `${archive.slice(0, -extname(archive).length)}-${index}.kml`;
    await write(zip, document, join(folder, nameOf(0)));
    const links = new Set((await networkLinks(join(folder, nameOf(0)))).map(pathOfLink));
    const linked = documents.filter((other) => other !== document && links.has(other.name));
    for (const [index, other] of linked.entries()) await write(zip, other, join(folder, nameOf(index + 1)));
    const others = documents.filter((other) => other !== document && !linked.includes(other));
    const notes = [
      ...(linked.length > 0 ? ["Of the links, those to KML files of the KMZ file were followed."] : []),
      ...(others.length > 0 ? [`KML files of the KMZ file that were not read: ${listed(others)}.`] : []),
    ];
    const taken = [document, ...linked];
    return {
      files: taken.map((_, index) => nameOf(index)),
      clientNames: taken.map(({ name }) => name),
      notes,
    };
  });
}

/** The path in the archive that a link may mean. It is compared with names of the archive, and nothing else. */
function pathOfLink(link: string): string {
  const path = link.replace(/^\.\//, "").replace(/[?#].*$/, "");
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const write = (zip: ZipArchive, file: ArchivedFile, path: string): Promise<void> =>
  pipeline(zip.read(file), createWriteStream(path, { flags: "wx", mode: 0o600 }));

const extensionOf = (name: string): string => extname(name).slice(1).toLowerCase();

function namesOfOurs(files: readonly ArchivedFile[], prefix: string): string[] {
  const stems = new Map<string, number>();
  const used = new Set<string>();
  return files.map(({ name }) => {
    const extension = extensionOf(name);
    const stem = name.slice(0, -extension.length - 1).toLowerCase();
    if (!stems.has(stem)) stems.set(stem, stems.size);
    const ours = `${prefix}${stems.get(stem)}.${extension}`;
    if (used.has(ours)) throw refused(`The archive has two files named ${shown(name)}.`);
    used.add(ours);
    return ours;
  });
}

function listed(files: readonly ArchivedFile[]): string {
  if (files.length === 0) return "nothing";
  const names = files.slice(0, listedFiles).map(({ name }) => shown(name));
  const more = files.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
