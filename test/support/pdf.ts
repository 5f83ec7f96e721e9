import { inflateSync } from "node:zlib";

/** Reads pages, images and text of the PDFs that the server writes; decodes text by the ToUnicode tables of fonts. */

export interface ReadPdf {
  readonly pages: number;
  readonly images: number;
  /** Text operations, one per line, in the order of the file. */
  readonly text: string;
}

export function readPdf(pdf: Uint8Array): ReadPdf {
  const file = Buffer.from(pdf).toString("latin1");
  const objects = new Map<number, string>();
  for (const match of file.matchAll(/(?:^|\n)(\d+) 0 obj\n([\s\S]*?)\nendobj/g)) {
    objects.set(Number(match[1]), match[2]!);
  }
  const fonts = new Map<string, string[]>();
  for (const body of objects.values()) {
    for (const [, name, id] of body.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
      const table = /\/ToUnicode (\d+) 0 R/.exec(objects.get(Number(id)) ?? "")?.[1];
      if (table) fonts.set(name!, characters(streamOf(objects.get(Number(table))!)));
    }
  }
  const lines: string[] = [];
  for (const body of objects.values()) {
    if (!body.includes("stream") || /\/(Subtype|ToUnicode|Type)/.test(body.split("stream")[0]!)) continue;
    let font: string[] = [];
    for (const match of streamOf(body).matchAll(/\/(F\d+) [\d.]+ Tf|\[([^\]]*)\] TJ/g)) {
      if (match[1]) font = fonts.get(match[1]) ?? [];
      else {
        const glyphs = [...match[2]!.matchAll(/<([0-9a-f]*)>/g)].map((part) => part[1]).join("");
        lines.push(
          (glyphs.match(/.{4}/g) ?? []).map((glyph) => font[Number.parseInt(glyph, 16)] ?? "").join(""),
        );
      }
    }
  }
  return {
    pages: [...file.matchAll(/\/Type \/Page\b/g)].length,
    images: [...file.matchAll(/\/Subtype \/Image\b/g)].length,
    text: lines.join("\n"),
  };
}

function streamOf(body: string): string {
  const start = body.indexOf("stream\n") + 7;
  const bytes = Buffer.from(body.slice(start, body.lastIndexOf("\nendstream")), "latin1");
  return body.includes("/FlateDecode") ? inflateSync(bytes).toString("latin1") : bytes.toString("latin1");
}

/** Characters by glyph id, from a ToUnicode table. */
function characters(table: string): string[] {
  const found: string[] = [];
  for (const [, first, list] of table.matchAll(/<([0-9a-f]+)> <[0-9a-f]+> \[([^\]]*)\]/g)) {
    const texts = [...list!.matchAll(/<([0-9a-f ]*)>/g)].map(([, hex]) =>
      Buffer.from(hex!.replaceAll(" ", ""), "hex").swap16().toString("utf16le"),
    );
    texts.forEach((text, index) => {
      found[Number.parseInt(first!, 16) + index] = text;
    });
  }
  return found;
}
