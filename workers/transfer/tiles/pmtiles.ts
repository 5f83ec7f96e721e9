import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { hilbertId } from "../../../src/geo/hilbert.js";
import type { TileFileRequest, TilesetFacts } from "../../../src/hosts/export-messages.js";
import { type Directories, directoriesOf, Entries } from "./pmtiles-directory.js";
import { readIndex } from "./read-index.js";

/** PMTiles 3: https://github.com/protomaps/PMTiles/blob/main/spec/v3/spec.md */

const headerBytes = 127;
const gzip = 2;
const uncompressed = 1;
const pngTiles = 2;

/**
 * Writes all that stands before the contents, which lie in the order that the format wants already. The entries are in memory:
 * 32 bytes for each that is not the continuation of a run.
 * @returns the files that make up the archive
 */
export function writePmtiles({ index, contents, count, bytes, facts, folder }: TileFileRequest): string[] {
  const entries = new Entries();
  let tiles = 0;
  for (const { z, x, y, offset, length } of readIndex(index)) {
    entries.add(hilbertId(z, x, y), offset, length);
    tiles++;
  }
  const directories = directoriesOf(entries);
  const metadata = gzipSync(JSON.stringify(metadataOf(facts)));
  const counts = { tiles, entries: entries.count, contents: count };
  const header = encodeHeader({ facts, counts, directories, metadataBytes: metadata.length, bytes });
  const head = join(folder, "head.pmtiles");
  writeFileSync(head, Buffer.concat([header, directories.root, metadata, directories.leaves]), {
    flag: "wx",
    mode: 0o600,
  });
  return [head, contents];
}

const metadataOf = ({ name, description, attribution, type, version }: TilesetFacts) => ({
  name,
  ...(description ? { description } : {}),
  ...(attribution ? { attribution } : {}),
  type,
  version,
  format: "png",
});

interface HeaderParts {
  readonly facts: TilesetFacts;
  readonly counts: { readonly tiles: number; readonly entries: number; readonly contents: number };
  readonly directories: Directories;
  readonly metadataBytes: number;
  /** Of the contents. */
  readonly bytes: number;
}

function encodeHeader({ facts, counts, directories, metadataBytes, bytes }: HeaderParts): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.write("PMTiles\x03", 0, "latin1");
  let offset = headerBytes;
  let at = 8;
  for (const length of [directories.root.length, metadataBytes, directories.leaves.length, bytes]) {
    header.writeBigUInt64LE(BigInt(offset), at);
    header.writeBigUInt64LE(BigInt(length), at + 8);
    offset += length;
    at += 16;
  }
  for (const number of [counts.tiles, counts.entries, counts.contents]) {
    header.writeBigUInt64LE(BigInt(number), at);
    at += 8;
  }
  const isClustered = 1;
  const [longitude, latitude, zoom] = facts.center;
  header.set([isClustered, gzip, uncompressed, pngTiles, facts.minZoom, facts.maxZoom], at);
  facts.bounds.forEach((degrees, index) => {
    header.writeInt32LE(fixed(degrees), 102 + 4 * index);
  });
  header.writeUInt8(zoom, 118);
  header.writeInt32LE(fixed(longitude), 119);
  header.writeInt32LE(fixed(latitude), 123);
  return header;
}

const fixed = (degrees: number): number => Math.round(degrees * 1e7);
