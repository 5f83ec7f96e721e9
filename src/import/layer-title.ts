import { basename, extname } from "node:path";

/** The name that a new layer has from its file. */

const longest = 200;

/** A title as people write them, of a file's own title or of a name that programs made: `admin_areas-2020` is "Admin areas 2020". */
export function readableTitle(text: string): string {
  const plain = text.replace(/[\p{Cc}\s]+/gu, " ").trim();
  const spaced = plain.includes(" ") ? plain : plain.replace(/[_.-]+/g, " ").trim();
  return [...(spaced.charAt(0).toUpperCase() + spaced.slice(1))].slice(0, longest).join("").trim();
}

/** @param path of the file; its extension is no part of the title */
export const titleOfFile = (path: string): string => readableTitle(basename(path, extname(path)));
