import { refused } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import { wkbOf } from "../shapes.js";
import { transformFrom } from "../srs.js";
import type { Reader } from "./reader.js";
import { type Classifier, readClassifier } from "./sxf-classifier.js";
import { PieceReader } from "./sxf-file.js";
import { passportReference, readPassport, recordMark } from "./sxf-passport.js";
import { readRecord, type SxfRecord, titleBytes } from "./sxf-record.js";
import { referenceOf } from "./sxf-reference.js";

/**
 * Reads digital maps in the binary form of SXF, versions 3 and 4, with the classifier beside them. GDAL's driver is not used
 * for their objects: it loses Cyrillic in UTF-16, all but one of several values with the same code, and parts of texts.
 */
export const readSxf: Reader = (task) =>
  PieceReader.use(task.path, async (pieces) => {
    const { path, sink, srs, encoding: requested } = task;
    const passport = readPassport(pieces);
    if (!srs.isGiven) sink.transform = transformFrom(referenceOf(passportReference(passport)));
    if (passport.isSampled)
      sink.note(
        "The coordinates of the file are samples of a digitized sheet; its scale made metres of them.",
      );
    const classifier = readClassifier(`${path.slice(0, -3)}rsc`, requested);
    if (!classifier)
      sink.note(
        "An SXF file came without its classifier (.rsc), so that its objects have codes, but no names.",
      );
    for (let index = 0; index < passport.records; index++) {
      const bytes = nextRecord(pieces, index, passport.records);
      sink.add((row) => write(row, readRecord(bytes, { passport, requested }), classifier));
      if (sink.isFull) await sink.flush();
    }
    if (pieces.has(1))
      sink.note("The file goes on after the objects that it names; what follows was left out.");
  });

function nextRecord(pieces: PieceReader, index: number, count: number): Buffer {
  const damaged = (what: string) =>
    refused(`The file is damaged: it names ${count} objects, but ${what} number ${index + 1}.`);
  if (!pieces.has(titleBytes)) throw damaged("ends before");
  const title = pieces.peek(titleBytes);
  const [mark, length, metricBytes] = [title.readUInt32LE(0), title.readUInt32LE(4), title.readUInt32LE(8)];
  if (mark !== recordMark) throw damaged("has something else in place of");
  if (length < titleBytes + metricBytes) throw damaged("has a wrong length of");
  if (!pieces.has(length)) throw damaged("ends within");
  return pieces.next(length);
}

/** The columns have the names that GDAL gives them. */
function write(row: RowEncoder, record: SxfRecord, classifier: Classifier | undefined): void {
  const { code, kind, number, shape, text, semantics } = record;
  row.wkbGeometry(wkbOf(shape));
  const layer = classifier?.layerOf(code, kind);
  if (layer !== undefined) row.property("layer", layer);
  row.property("CLCODE", code);
  const name = classifier?.nameOf(code, kind);
  if (name !== undefined) row.property("CLNAME", name);
  row.property("OBJECTNUMB", number);
  if (text !== undefined) row.property("TEXT", text);
  const counts = new Map<number, number>();
  for (const [semantic, value] of semantics) {
    const count = (counts.get(semantic) ?? 0) + 1;
    counts.set(semantic, count);
    row.property(count === 1 ? `SC_${semantic}` : `SC_${semantic}_${count}`, value);
  }
}
