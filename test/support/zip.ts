import { buffer } from "node:stream/consumers";
import { ZipFile } from "yazl";

/** Archives for tests. */

/** A ZIP archive of these files; a file mode makes an entry another kind of file. */
export async function zipOf(
  files: Readonly<Record<string, string | Buffer>>,
  { mode = 0o100644 }: { readonly mode?: number } = {},
): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files))
    zip.addBuffer(Buffer.from(content as Buffer), name, { mode });
  zip.end();
  return buffer(zip.outputStream);
}
