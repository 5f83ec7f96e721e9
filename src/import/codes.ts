import { latin } from "../latin.js";

/** Makes column codes from the names of a file's properties. Pure. */

const maxLength = 44;
/** Codes that every layer has, and one that is not safe as an object key. */
const reserved: ReadonlySet<string> = new Set(["svc_id", "geom", "__proto__"]);
const valid = /^[A-Za-z_][A-Za-z0-9_]{0,43}$/;

/**
 * Codes for new columns, one per name, in the same order: the name itself if it is a valid code, else its transliteration;
 * with a number at the end if the code is taken. Deterministic.
 * @param taken codes of the layer's columns
 */
export function columnCodes(names: readonly string[], taken: Iterable<string>): string[] {
  const used = new Set([...reserved, ...taken]);
  const codes = names.map((name) => {
    // Names that are valid codes are assigned first, whatever their position in the file.
    if (!valid.test(name) || used.has(name)) return undefined;
    used.add(name);
    return name;
  });
  return codes.map((code, index) => {
    if (code !== undefined) return code;
    const free = freeCode(names[index]!, used);
    used.add(free);
    return free;
  });
}

function freeCode(name: string, used: ReadonlySet<string>): string {
  let base = latin(name) || "field";
  if (/^\d/.test(base)) base = `_${base}`;
  base = base.slice(0, maxLength);
  let code = base;
  for (let number = 2; used.has(code); number++) {
    const suffix = `_${number}`;
    code = base.slice(0, maxLength - suffix.length) + suffix;
  }
  return code;
}
