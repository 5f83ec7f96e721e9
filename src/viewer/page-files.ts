import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Static files of a page, read once at start; only these are served. */

export interface PageFile {
  readonly body: Buffer;
  readonly type: string;
  /** Of its bytes. */
  readonly hash: string;
  /** Strong, with quotes. */
  readonly etag: string;
  /** Compressed ahead by brotli. */
  readonly brotli?: Buffer;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webp": "image/webp",
  ".json": "application/json; charset=utf-8",
};

const hashOf = (body: Buffer): string => createHash("sha256").update(body).digest("base64url").slice(0, 22);

/** What the build has compressed, by the hash of the bytes. */
const packed = join(dirname(fileURLToPath(import.meta.url)), "packed");

/** A file with the media type of its extension. */
export function pageFile(name: string, body: Buffer): PageFile {
  const hash = hashOf(body);
  const path = join(packed, `${hash}.br`);
  return {
    ...{ body, hash, type: types[extname(name)] ?? "application/octet-stream", etag: `"${hash}"` },
    ...(existsSync(path) && { brotli: readFileSync(path) }),
  };
}

/** The files of a folder that have a known extension, by name. */
export function readFolder(folder: string, prefix = ""): [name: string, body: Buffer][] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && extname(entry.name) in types)
    .map((entry) => [prefix + entry.name, readFileSync(join(folder, entry.name))]);
}

/** Removes the reference to the source map, which is not served. */
const withoutSourceMap = (body: Buffer): Buffer =>
  Buffer.from(body.toString("utf8").replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n"));

export interface Build {
  /** Hash of all files. URLs contain it, so that they can be cached without limit. */
  readonly build: string;
  readonly files: ReadonlyMap<string, PageFile>;
}

/** The files by name, sorted, with their hash. */
export function buildOf(entries: ReadonlyMap<string, Buffer>): Build {
  const files = new Map<string, PageFile>();
  const all = createHash("sha256");
  for (const [name, raw] of [...entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const file = pageFile(name, extname(name) === ".js" ? withoutSourceMap(raw) : raw);
    files.set(name, file);
    all.update(`${name}\n${file.etag}\n`);
  }
  return { build: all.digest("base64url").slice(0, 12), files };
}
