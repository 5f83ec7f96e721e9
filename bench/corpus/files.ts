import { readdirSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { importFormats, sidecarExtensions } from "../../src/hosts/import-messages.js";

/** The datasets in a folder: files of import formats, with the files that belong to each. */

export interface Dataset {
  /** Path of the main file, relative to the folder. */
  readonly name: string;
  /** Extension of the main file, lower case, without a dot. */
  readonly extension: string;
  /** Paths of all its files, the main one first. */
  readonly parts: readonly string[];
}

const sidecars: ReadonlySet<string> = new Set(Object.values(sidecarExtensions).flat());

/** Sorted by name. */
export function datasetsIn(folder: string): Dataset[] {
  const files = (readdirSync(folder, { recursive: true, encoding: "utf8" }) as string[]).sort();
  const byStem = new Map<string, string[]>();
  for (const file of files) {
    const stem = stemOf(file);
    byStem.set(stem, [...(byStem.get(stem) ?? []), file]);
  }
  const formats = new Set<string>([...Object.values(importFormats).flat(), "zip"]);
  return files.flatMap((name) => {
    const extension = extensionOf(name);
    if (!formats.has(extension) || sidecars.has(extension)) return [];
    const belongs = sidecarExtensions[extension] ?? [];
    const others = byStem.get(stemOf(name))!.filter((file) => belongs.includes(extensionOf(file)));
    return [{ name, extension, parts: [name, ...others].map((part) => join(folder, part)) }];
  });
}

const extensionOf = (file: string): string => extname(file).slice(1).toLowerCase();

const stemOf = (file: string): string => join(dirname(file), basename(file, extname(file))).toLowerCase();
