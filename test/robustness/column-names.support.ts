import { readdirSync, readFileSync } from "node:fs";
import type pg from "pg";
import { checkColumnCode } from "../../src/catalog/codes.js";

/** Codes of columns that SQL, programs or we ourselves use as names of something else. */

/** Every one of them that a column may have. */
export async function troublesomeCodes(sql: pg.Client): Promise<string[]> {
  const keywords = await sql.query<{ word: string }>("select word from pg_get_keywords()");
  const codes = new Set([
    ...ours(),
    ..."ctid xmin xmax cmin cmax tableoid oid geom_3857 svc_id_ SVC_ID Geom GEOM Kind KEEP pX id fields bbox".split(
      " ",
    ),
    ..."properties geometry type constructor toString hasOwnProperty prototype valueOf length name".split(
      " ",
    ),
    ..."mapnik zoom image count code value key text_name _ __ _1 c1 c2 p1 p2 l1".split(" "),
    `${"a".repeat(43)}1`,
    `${"a".repeat(43)}2`,
    ...keywords.rows.map(({ word }) => word),
  ]);
  return [...codes].filter((code) => isCode(code) && code !== "svc_id" && code !== "geom");
}

function isCode(code: string): boolean {
  try {
    return checkColumnCode(code) === code;
  } catch {
    return false;
  }
}

/** Folders whose files make SQL over a layer's objects. */
const folders = [
  "src/catalog",
  "src/features",
  "src/print",
  "src/search",
  "src/storage/functions",
  "src/style",
  "src/tiles",
  "src/import",
  "src/export",
  "workers/transfer",
];
/** A name that SQL gives to a table or a value comes after one of these words, or after the bracket that ends it. */
const named = /(?<=(?:\b(?:as|from|join|with|lateral)|\))\s+)[a-z_][a-z0-9_]*/g;

const comments = /^\s*(?:\*|\/\*|\/\/|--).*$/gm;

/** Names that SQL in our sources gives to something, and every letter. */
function ours(): string[] {
  const names = new Set("abcdefghijklmnopqrstuvwxyz");
  for (const folder of folders) {
    for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.(ts|sql)$/.test(name),
    )) {
      const text = readFileSync(`${folder}/${file}`, "utf8").replace(comments, "");
      for (const [name] of text.matchAll(named)) names.add(name);
    }
  }
  return [...names];
}
