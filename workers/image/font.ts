import { readFile, writeFile } from "node:fs/promises";
import type { FontRequest, FontResponse } from "../../src/hosts/messages.js";
import { FontRefusal } from "./font/sfnt.js";

/** Reads a font for styles and writes it anew, so that nothing unchecked of the file that was sent is drawn from. */
export async function font({ path, target }: FontRequest): Promise<FontResponse> {
  // Loaded by the first font: HarfBuzz takes 60 ms and 13 MB, which other images need not wait for.
  const { safeFont } = await import("./font/safe-font.js");
  try {
    const { content, format, names, digest } = safeFont(await readFile(path));
    await writeFile(target, content);
    return { ok: true, format, names, digest, bytes: content.length };
  } catch (error) {
    if (error instanceof FontRefusal) return { ok: false, error: error.message };
    throw error;
  }
}
