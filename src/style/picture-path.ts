/** The names of pictures in styles: `url(symbols/tree.svg)`, `url(symbols/shield_[ref_length].svg)`, `url(icon:star)`. */

export const maxPicturePath = 200;
const maxColumns = 2;

const segment = "[\\p{L}\\p{N}_](?:[\\p{L}\\p{N}_ .@+-]*[\\p{L}\\p{N}_@+-])?";
const stored = pathsWith("png|svg|webp");
const column = /\[([A-Za-z0-9_]{1,44})\]/g;
const icon = /^icon:[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Matches paths of files that end so: folders and a name. */
export function pathsWith(endings: string): RegExp {
  return new RegExp(`^(?:${segment}/)*${segment}\\.(?:${endings})$`, "iu");
}

/** Whether a picture can have this path: folders and names that begin with a letter, digit or `_`. */
export const isPicturePath = (path: string): boolean => path.length <= maxPicturePath && stored.test(path);

export const isIconName = (name: string): boolean => icon.test(name);

/**
 * The picture that a style names, in the form in which it is looked up; undefined when it is no picture's name. Columns in
 * brackets stand for their values, but a path does not begin with one.
 */
export function pictureName(text: string): string | undefined {
  if (isIconName(text)) return text;
  const path = text.replace(/^(?:\.\/)+/, "");
  // Several columns in a row could share a path in very many ways, which `pathsOf` would try all.
  if (columnsIn(path).length > maxColumns || path.includes("][")) return undefined;
  return /^[\p{L}\p{N}_]/u.test(path) && isPicturePath(path.replace(column, "0")) ? path : undefined;
}

/** The columns that a picture's name holds, in their order. */
export const columnsIn = (name: string): string[] =>
  [...name.matchAll(column)].map(([, code]) => code as string);

/** What a column's value must be to be part of a picture's name. The same in JavaScript and in PostgreSQL. */
export const columnValuePattern = "[A-Za-z0-9_]([A-Za-z0-9_@+-]|[.][A-Za-z0-9_@+-])*";

/** Matches the paths that the name can stand for. */
export function pathsOf(name: string): RegExp {
  const parts = name.split(column).filter((_part, index) => index % 2 === 0);
  return new RegExp(`^${parts.map((part) => part.replace(/[.+]/g, "\\$&")).join(columnValuePattern)}$`, "u");
}
