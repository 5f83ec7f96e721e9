import { existsSync, readFileSync, statSync } from "node:fs";
import { refused } from "../refusal.js";
import { type SxfKind, sxfKinds } from "./sxf-record.js";

/** The classifier of a map (`.rsc`): names of what its objects are, and of the layers that they belong to. */

export interface Classifier {
  /** The name of the objects with that code. */
  readonly nameOf: (code: number, kind: SxfKind) => string | undefined;
  /** The short name of their layer. */
  readonly layerOf: (code: number, kind: SxfKind) => string | undefined;
}

/** Bound on a classifier; large ones have 5 MB. */
const maxBytes = 64 * 1024 ** 2;

/** The table of sections: offset, length of a record, number of records. */
const sections = { objects: 120, layers: 180 } as const;
const encodingAt = 320;
const headerBytes = 328;

/**
 * @returns undefined without the file
 * @throws Refusal when it is damaged
 */
export function readClassifier(path: string, requested: string | undefined): Classifier | undefined {
  if (!existsSync(path)) return undefined;
  if (statSync(path).size > maxBytes) throw refused(`The .rsc is larger than ${maxBytes / 1024 ** 2} MB.`);
  const bytes = readFileSync(path);
  if (bytes.length < headerBytes || bytes.toString("latin1", 0, 3) !== "RSC")
    throw refused("The .rsc is no classifier of a map.");
  const encoding = bytes.readUInt32LE(encodingAt) === 125 ? "koi8-r" : "windows-1251";
  const decoder = new TextDecoder(requested ?? encoding);
  const text = (record: Buffer, from: number, length: number): string =>
    decoder
      .decode(record.subarray(from, from + length))
      .replace(/\0.*$/s, "")
      .trim();

  const layers = new Map<number, string>();
  for (const layer of records(bytes, sections.layers, 56)) layers.set(layer[52]!, text(layer, 36, 16));
  const names = new Map<string, string>();
  const layerNumbers = new Map<string, number>();
  for (const object of records(bytes, sections.objects, 82)) {
    const code = object.readUInt32LE(4);
    const kind = sxfKinds[object[80]!];
    // The same code may mean a line and a point.
    for (const key of [`${code} ${kind}`, String(code)]) {
      if (names.has(key)) continue;
      names.set(key, text(object, 48, 32));
      layerNumbers.set(key, object[81]!);
    }
  }
  const found = <T>(map: ReadonlyMap<string, T>, code: number, kind: SxfKind) =>
    map.get(`${code} ${kind}`) ?? map.get(String(code));
  return {
    nameOf: (code, kind) => found(names, code, kind) || undefined,
    layerOf: (code, kind) => layers.get(found(layerNumbers, code, kind) ?? -1) || undefined,
  };
}

/** The records of a section, each with its length in front. */
function* records(bytes: Buffer, section: number, leastBytes: number): Generator<Buffer> {
  let at = bytes.readUInt32LE(section);
  const count = bytes.readUInt32LE(section + 8);
  for (let index = 0; index < count; index++) {
    const length = at + leastBytes <= bytes.length ? bytes.readUInt32LE(at) : 0;
    if (length < leastBytes || at + length > bytes.length)
      throw refused("The .rsc is damaged: a record in it is longer than the file.");
    yield bytes.subarray(at, at + length);
    at += length;
  }
}
