import { latin } from "../../../latin.js";

/** Files that were dropped, in groups that belong together. Does not depend on the DOM. */

export interface FileGroup<File extends { readonly name: string }> {
  /** What its layer is called. */
  readonly name: string;
  readonly files: readonly File[];
}

/** Extensions of files that belong to another one of the same name. */
const companions: Readonly<Record<string, readonly string[]>> = {
  shp: ["dbf", "shx", "prj", "cpg", "qpj", "sbn", "sbx", "qix"],
  mif: ["mid"],
  tab: ["dat", "map", "id", "ind"],
  tif: ["tfw", "prj"],
  tiff: ["tfw", "prj"],
  png: ["pgw", "prj"],
  jpg: ["jgw", "prj"],
  jpeg: ["jgw", "prj"],
};

function parts(name: string): { readonly stem: string; readonly extension: string } {
  const dot = name.lastIndexOf(".");
  return dot <= 0
    ? { stem: name, extension: "" }
    : { stem: name.slice(0, dot), extension: name.slice(dot + 1).toLowerCase() };
}

/** One group for each file that stands for itself, with those that belong to it. */
export function groupFiles<File extends { readonly name: string }>(
  files: readonly File[],
): FileGroup<File>[] {
  const taken = new Set<File>();
  const groups: { readonly name: string; readonly files: File[] }[] = [];
  for (const file of files) {
    const { stem, extension } = parts(file.name);
    const wanted = companions[extension];
    if (!wanted) continue;
    const others = files.filter((other) => {
      const { stem: otherStem, extension: otherExtension } = parts(other.name);
      return (
        !taken.has(other) && otherStem.toLowerCase() === stem.toLowerCase() && wanted.includes(otherExtension)
      );
    });
    for (const one of [file, ...others]) taken.add(one);
    groups.push({ name: stem, files: [file, ...others] });
  }
  const rest = files
    .filter((file) => !taken.has(file))
    .map((file) => ({ name: parts(file.name).stem, files: [file] }));
  return [...groups, ...rest];
}

const longestCode = 40;

/** A code for a map with that name: small Latin letters and digits; `other` when it has none. */
export function codeOf(name: string, other: string): string {
  const plain = latin(name)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, longestCode)
    .replace(/-+$/, "");
  return plain || other;
}
