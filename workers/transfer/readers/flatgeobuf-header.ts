import { headOf } from "./file-head.js";
import { FlatBufferTables, UnsoundMessage } from "./flatbuffer-tables.js";

/** Reads the header of FlatGeobuf (flatgeobuf.org). The numbers of fields in tables are those of header.fbs. */

export interface FlatGeobufColumn {
  readonly name: string;
  /** Number of the type in FlatGeobuf. */
  readonly type: number;
}

export interface FlatGeobufHeader {
  /** Number of the type in WKB; 0 = every geometry has its own. */
  readonly geometryType: number;
  readonly hasZ: boolean;
  readonly hasM: boolean;
  readonly columns: readonly FlatGeobufColumn[];
  /** 0 = not known. */
  readonly features: number;
  /** Where the features begin. */
  readonly start: number;
}

/** "fgb", version 3, "fgb", and a patch level. */
const magic = Buffer.from("66676203666762", "hex");
/** Bound on a header; a thousand columns need a tenth of it. */
const maxHeaderBytes = 1024 ** 2;
/** Of a node of the spatial index. */
const nodeBytes = 40;

/** @throws UnsoundMessage when the file is none of FlatGeobuf 3, or damaged */
export function readFlatGeobufHeader(path: string): FlatGeobufHeader {
  const bytes = headOf(path, maxHeaderBytes);
  if (bytes.length < 16 || !magic.equals(bytes.subarray(0, magic.length))) throw new UnsoundMessage();
  const end = 12 + bytes.readUInt32LE(8);
  if (end > bytes.length) throw new UnsoundMessage();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const tables = new FlatBufferTables(view);
  const header = tables.enter(view, 12, end);
  const list = tables.vector(header, 7, 4);
  const columns = Array.from({ length: tables.count }, (_, index): FlatGeobufColumn => {
    const column = tables.target(list + 4 * index);
    const type = tables.uint8(column, 1, 0);
    const text = tables.vector(column, 0, 1);
    return { name: bytes.toString("utf8", text, text + tables.count), type };
  });
  const features = tables.uint64(header, 8, 0);
  return {
    geometryType: tables.uint8(header, 2, 0),
    hasZ: tables.uint8(header, 3, 0) !== 0,
    hasM: tables.uint8(header, 4, 0) !== 0,
    columns,
    features,
    start: end + indexBytes(features, tables.uint16(header, 9, 16)),
  };
}

/** The size of the spatial index, a tree whose nodes have that many children. */
function indexBytes(features: number, children: number): number {
  if (children === 0 || features === 0) return 0;
  if (children === 1) throw new UnsoundMessage();
  let nodes = features;
  let level = features;
  do {
    level = Math.ceil(level / children);
    nodes += level;
  } while (level > 1);
  return nodes * nodeBytes;
}
