/** Media types of files by their first bytes (magic numbers). The extension only decides between formats that share them. */

const signatures: readonly (readonly [mime: string, offset: number, bytes: string])[] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF87a"],
  ["image/gif", 0, "GIF89a"],
  ["image/webp", 8, "WEBP"],
  ["image/tiff", 0, "II*\0"],
  ["image/tiff", 0, "MM\0*"],
  ["application/pdf", 0, "%PDF-"],
  ["application/gzip", 0, "\x1f\x8b"],
  ["application/x-7z-compressed", 0, "7z\xbc\xaf\x27\x1c"],
  ["application/vnd.rar", 0, "Rar!\x1a\x07"],
  ["application/rtf", 0, "{\\rtf"],
  ["audio/mpeg", 0, "ID3"],
  ["audio/ogg", 0, "OggS"],
  ["audio/flac", 0, "fLaC"],
  ["audio/wav", 8, "WAVE"],
  ["video/mp4", 4, "ftyp"],
  ["video/webm", 0, "\x1aE\xdf\xa3"],
];

/** Formats in zip containers, by extension. */
const archives: Readonly<Record<string, string>> = {
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  odt: "application/vnd.oasis.opendocument.text",
  ods: "application/vnd.oasis.opendocument.spreadsheet",
  kmz: "application/vnd.google-earth.kmz",
};

/** Formats in OLE compound files, by extension. */
const compound: Readonly<Record<string, string>> = {
  doc: "application/msword",
  xls: "application/vnd.ms-excel",
  ppt: "application/vnd.ms-powerpoint",
};

/** Text formats that browsers do not execute. HTML, SVG and other XML are served as plain text, for security. */
const texts: Readonly<Record<string, string>> = {
  csv: "text/csv",
  json: "application/json",
  geojson: "application/geo+json",
};

/** Number of bytes of a file's beginning that `mimeOf` reads. */
export const headBytes = 4_096;

/** The media type of a file by its first `headBytes` bytes (or all of it) and the file name that the client sent. */
export function mimeOf(head: Buffer, name: string): string {
  const extension = /\.([A-Za-z0-9]{1,8})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const starts = (bytes: string, offset = 0) =>
    head.subarray(offset, offset + bytes.length).equals(Buffer.from(bytes, "latin1"));
  const known = (table: Readonly<Record<string, string>>) =>
    Object.hasOwn(table, extension) ? table[extension] : undefined;
  for (const [mime, offset, bytes] of signatures) if (starts(bytes, offset)) return mime;
  if (starts("PK\x03\x04")) return known(archives) ?? "application/zip";
  if (starts("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) return known(compound) ?? "application/octet-stream";
  return isText(head) ? (known(texts) ?? "text/plain") : "application/octet-stream";
}

/** Image types that can be shown and resized. */
const pictures: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const isPicture = (mime: string): boolean => pictures.has(mime);

/** Whether it is UTF-8 without control characters; the last character may be incomplete. */
function isText(head: Buffer): boolean {
  if (head.length === 0) return false;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what texts do not have
  if (/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(head.toString("latin1"))) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: head.length >= headBytes });
    return true;
  } catch {
    return false;
  }
}
