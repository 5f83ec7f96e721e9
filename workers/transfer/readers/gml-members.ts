import { closeSync, openSync, readSync } from "node:fs";

/** Whether a GML file has features, whatever GDAL makes of them. */

const member = /<(?:[\w.-]+:)?(?:featureMembers?|member|featureCollectionMember)[\s>]/;
const pieceBytes = 1024 ** 2;
/** Longer than the beginning of such an element. */
const overlap = 200;

/** Looks for the first element that holds a feature. */
export function hasMembers(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const piece = Buffer.alloc(pieceBytes);
    let rest = "";
    for (;;) {
      const read = readSync(file, piece);
      if (read === 0) return false;
      // Names of elements are ASCII in every encoding that GDAL's parser reads, but for UTF-16, whose zeros are left out.
      const text = rest + piece.toString("latin1", 0, read).replaceAll("\0", "");
      if (member.test(text)) return true;
      rest = text.slice(-overlap);
    }
  } finally {
    closeSync(file);
  }
}
