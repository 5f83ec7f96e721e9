import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { outlines } from "../../workers/image/font/outlines.js";
import { safeFont } from "../../workers/image/font/safe-font.js";
import { FontRefusal, readTables } from "../../workers/image/font/sfnt.js";
import { loadMapnik } from "../../workers/render/mapnik.js";
import { blockFont, dejaVu, integer, numbers, tableOf, withTables } from "../support/fonts.js";

/** Fonts that were made to harm: what is not refused is written anew, and the renderer reads it. */

const mapnik = loadMapnik();
const folder = mkdtempSync(join(tmpdir(), "mapwright-fonts-"));
t.teardown(() => rmSync(folder, { recursive: true }));

const mono = dejaVu("DejaVuSansMono.ttf");
const block = blockFont({ family: "Block" });

/** The table with numbers of 16 bits at some places. */
function written(table: Buffer, values: Readonly<Record<number, number>>): Buffer {
  for (const [at, value] of Object.entries(values)) table.writeUInt16BE(value & 0xffff, Number(at));
  return table;
}

/** A TrueType font with these glyphs. */
function withGlyphs(glyphs: readonly Buffer[]): Buffer {
  const loca = numbers(
    [...glyphs.keys(), glyphs.length].map(
      (count) => glyphs.slice(0, count).reduce((sum, { length }) => sum + length, 0) / 2,
    ),
  );
  const maxp = written(Buffer.alloc(32), { 0: 1, 4: glyphs.length });
  const hmtx = numbers(glyphs.flatMap(() => [500, 0]));
  return withTables(block, {
    ...{ "CFF ": undefined, glyf: Buffer.concat(glyphs), loca, maxp, hmtx },
    hhea: written(tableOf(block, "hhea"), { 34: glyphs.length }),
  });
}

const triangle = Buffer.concat([
  numbers([1, 0, 0, 100, 100, 2, 3]),
  Buffer.from([0x4f, 0x4f, 0x4f]),
  Buffer.from([0x37, 0x37, 0x37]),
  numbers([0, 0, 100, 0, 0, 100]),
]);

/** A glyph that is put together from others. */
const composite = (parts: readonly number[], flags = 0x0002) =>
  Buffer.concat([
    numbers([-1, 0, 0, 0, 0]),
    ...parts.map((glyph, index) => numbers([flags | (index < parts.length - 1 ? 0x20 : 0), glyph, 0])),
  ]);

const loop = (count: number, call: number) =>
  Buffer.concat([
    ...Array.from({ length: count }, () => Buffer.from([call - 107 + 139, 10])),
    Buffer.from([11]),
  ]);

const hostile: Readonly<Record<string, [font: Buffer, message: RegExp]>> = {
  "no font": [Buffer.from("GIF89a and some more"), /no TrueType/],
  "less than a header": [Buffer.from("OTTO"), /no TrueType/],
  "a collection": [Buffer.concat([Buffer.from("ttcf"), mono.subarray(4)]), /collection/],
  "a web font": [Buffer.concat([Buffer.from("wOF2"), mono.subarray(4)]), /web font/],
  "60,000 tables": [written(Buffer.from(mono), { 4: 60_000 }), /list of tables/],
  "tables beyond the end": [mono.subarray(0, mono.length / 2), /damaged/],
  "bitmaps only": [withTables(mono, { glyf: undefined, EBDT: Buffer.alloc(100) }), /bitmaps/],
  "no name": [withTables(mono, { name: undefined }), /no table name/],
  "names beyond their table": [
    withTables(mono, { name: written(tableOf(mono, "name"), { 4: 65_000 }) }),
    /name/,
  ],
  "an empty table of names": [withTables(mono, { name: numbers([0, 0, 6]) }), /no name/],
  "another magic number": [withTables(mono, { head: written(tableOf(mono, "head"), { 12: 0 }) }), /head/],
  "units of nothing": [withTables(mono, { head: written(tableOf(mono, "head"), { 18: 0 }) }), /head/],
  "no glyphs": [withTables(mono, { maxp: written(tableOf(mono, "maxp"), { 4: 0 }) }), /maxp/],
  "more glyphs than places": [
    withTables(mono, { maxp: written(tableOf(mono, "maxp"), { 4: 65_535 }) }),
    /ends early|damaged/,
  ],
  "widths that are not there": [withTables(mono, { hmtx: Buffer.alloc(8) }), /hmtx/],
  "more widths than glyphs": [
    withTables(mono, { hhea: written(tableOf(mono, "hhea"), { 34: 65_535 }) }),
    /hhea/,
  ],
  "widths of a thousand em": [withTables(block, { hmtx: numbers([0, 0, 65_535, 0]) }), /hmtx/],
  "lines of a thousand em": [
    withTables(block, { hhea: written(tableOf(block, "hhea"), { 4: 32_000 }) }),
    /hhea/,
  ],
  "no characters": [withTables(block, { cmap: numbers([0, 0]) }), /cmap/],
  "all characters told a thousand times": [
    withTables(block, {
      cmap: numbers([
        ...[0, 1, 3, 10, 0, 12, 12, 0, 0, 12_016, 0, 0, 0, 1_000],
        ...Array.from({ length: 1_000 }, () => [0, 0, 16, 65_535, 0, 1]).flat(),
      ]),
    }),
    /cmap/,
  ],
  "characters without end": [
    withTables(block, {
      cmap: numbers([0, 1, 3, 10, 0, 12, 12, 0, 0, 28, 0, 0, 65_535, 1, 0, 65, 65_535, 65, 0, 1]),
    }),
    /cmap/,
  ],
  "places of glyphs that go back": [withTables(mono, { loca: tableOf(mono, "loca").reverse() }), /loca/],
  "glyphs that multiply": [
    withGlyphs([triangle, ...Array.from({ length: 7 }, (_, index) => composite(Array(60).fill(index)))]),
    /glyf/,
  ],
  "empty glyphs that multiply": [
    withGlyphs([
      Buffer.alloc(0),
      ...Array.from({ length: 7 }, (_, index) => composite(Array(60).fill(index))),
    ]),
    /glyf/,
  ],
  "a glyph of thirty em": [
    withGlyphs([
      triangle,
      Buffer.concat([numbers([1, 0, 0, 0, 0, 1, 0]), Buffer.from([1, 1]), numbers([0, 30_000, 0, 0])]),
    ]),
    /too large/,
  ],
  "more points than bytes": [withGlyphs([triangle, numbers([1, 0, 0, 0, 0, 31_000, 0, 0])]), /glyf/],
  "contours that go back": [withGlyphs([triangle, numbers([2, 0, 0, 0, 0, 5, 3, 0])]), /glyf/],
  "a program without end": [
    blockFont({ family: "x", subroutines: [loop(1, 0)], program: Buffer.from([32, 29]) }),
    /CFF/,
  ],
  "subroutines that multiply": [
    blockFont({
      family: "x",
      subroutines: Array.from({ length: 9 }, (_, index) =>
        index === 0
          ? Buffer.from([139, 22, 11])
          : Buffer.concat([
              ...Array.from({ length: 30 }, () => Buffer.from([index - 1 - 107 + 139, 29])),
              Buffer.from([11]),
            ]),
      ),
      program: Buffer.from([8 - 107 + 139, 29, 14]),
    }),
    /too long|CFF/,
  ],
  "subroutines that there are none of": [blockFont({ family: "x", program: Buffer.from([139, 29]) }), /CFF/],
  "more numbers than the stack holds": [blockFont({ family: "x", program: Buffer.alloc(60, 139) }), /CFF/],
  "a program with a number cut off": [blockFont({ family: "x", program: Buffer.from([28, 1]) }), /CFF/],
  "a glyph as large as a page": [
    blockFont({
      family: "x",
      program: Buffer.concat([
        ...[integer(0), integer(0), Buffer.from([21])],
        ...[integer(30_000), integer(30_000), Buffer.from([5, 14])],
      ]),
    }),
    /too large/,
  ],
  "lists beyond their end": [
    withTables(block, { "CFF ": tableOf(block, "CFF ").subarray(0, 40) }),
    /CFF|ends early/,
  ],
};

/** What programs that draw fonts pass over. */
const odd: Readonly<Record<string, Buffer>> = {
  "characters with glyphs that there are none of": withTables(block, {
    cmap: numbers([0, 1, 3, 10, 0, 12, 12, 0, 0, 28, 0, 0, 0, 1, 0, 65, 0, 65, 0, 9]),
  }),
  "characters told many times": withTables(block, {
    cmap: numbers([0, 1, 3, 10, 0, 12, 12, 0, 0, 40, 0, 0, 0, 2, 0, 65, 0, 65, 0, 1, 0, 65, 0, 65, 0, 1]),
  }),
  "glyphs of themselves": withGlyphs([triangle, composite([1])]),
  "glyphs in a circle": withGlyphs([triangle, composite([2]), composite([1])]),
  "parts that there are none of": withGlyphs([triangle, composite([9])]),
  "parts placed by points": withGlyphs([triangle, composite([0], 0)]),
  "computing programs": blockFont({ family: "x", program: Buffer.from([139, 139, 12, 10, 14]) }),
};

for (const [name, font] of Object.entries(odd)) {
  t.test(`drawn without harm: ${name}`, async () => draw(safeFont(font)));
}

for (const [name, [font, message]] of Object.entries(hostile)) {
  t.test(`refused: ${name}`, async (t) => {
    try {
      safeFont(font);
      t.fail("taken");
    } catch (error) {
      t.ok(error instanceof FontRefusal, String(error));
      t.match((error as Error).message, message);
    }
  });
}

t.test("of a font only tables that labels need are kept", async (t) => {
  const extra = {
    "SVG ": Buffer.from("<svg/>"),
    fvar: Buffer.alloc(9),
    CBDT: Buffer.alloc(9),
    meta: Buffer.alloc(9),
  };
  const { content, names } = safeFont(withTables(mono, extra));
  const tables = readTables(content);
  const allowed = [
    "GDEF",
    "GPOS",
    "GSUB",
    "OS/2",
    "cmap",
    "glyf",
    "head",
    "hhea",
    "hmtx",
    "loca",
    "maxp",
    "name",
    "post",
  ];
  t.same(
    [...tables.keys()].filter((tag) => !allowed.includes(tag)),
    [],
  );
  t.same(names, ["DejaVu Sans Mono Book", "DejaVu Sans Mono"]);
  t.notMatch(content.toString("latin1"), /svg/);
  const again = safeFont(content);
  t.ok(again.content.length > 0, "what was written is taken again");
});

t.test("outlines of OpenType fonts are the same when they are written anew", async (t) => {
  const half = Buffer.from([255, 0, 100, 0x80, 0]);
  const program = Buffer.concat([
    ...[integer(107), integer(-107), Buffer.from([21])],
    ...[integer(108), integer(-108), integer(1_131), integer(-1_131), Buffer.from([5])],
    ...[integer(-1_132), integer(1_132), Buffer.from([5]), half, half, Buffer.from([5])],
    ...[10, 20, 30, 40, 50, -60].map(integer),
    ...[Buffer.from([8]), ...[90, 1, 2, 80].map(integer), Buffer.from([30]), Buffer.from([14])],
  ]);
  const font = blockFont({ family: "x", program });
  const [before, after] = [font, safeFont(font).content].map((content) => [...outlines(content, 2, "CFF")]);
  t.same(after, before);
  t.equal(before![1]!.length, 8);
});

t.test("equal fonts have one digest under all names, others have others", async (t) => {
  const digest = (font: Buffer) => safeFont(font).digest;
  t.equal(digest(blockFont({ family: "a" })), digest(blockFont({ family: "b" })));
  t.not(digest(blockFont({ family: "a" })), digest(blockFont({ family: "a", right: 900 })));
});

/** Numbers from 0 to 1, the same ones each time. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

t.test("of fonts with damaged bytes those that are taken are drawn", async (t) => {
  const next = random(7);
  let [taken, refused] = [0, 0];
  for (let count = 0; count < 240; count++) {
    const font = Buffer.from(count % 6 === 0 ? mono : block);
    // Of a large font the part where the small tables are.
    const span = count % 2 === 0 ? Math.min(font.length, 2_000) : font.length;
    for (let change = 0; change < 1 + (count % 8); change++)
      font[Math.floor(next() * span)] = Math.floor(next() * 256);
    let safe: ReturnType<typeof safeFont>;
    try {
      safe = safeFont(font);
    } catch (error) {
      if (!(error instanceof FontRefusal)) throw error;
      refused++;
      continue;
    }
    taken++;
    await draw(safe);
  }
  t.ok(taken > 20 && refused > 20, `${taken} taken, ${refused} refused`);
});

/** Draws a label in the font. */
async function draw({ content, digest }: ReturnType<typeof safeFont>): Promise<void> {
  const path = join(folder, `${digest}.font`);
  writeFileSync(path, content);
  const map = new mapnik.Map(256, 256);
  if (!map.registerFonts(path)) throw new Error("Mapnik does not read what was taken.");
  const inline = JSON.stringify({
    type: "FeatureCollection",
    features: [{ type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [0, 0] } }],
  }).replaceAll('"', "&quot;");
  map.fromStringSync(
    `<Map><Style name="s"><Rule><TextSymbolizer face-name="${digest} Regular" size="256" allow-overlap="true">"ABCffi Ж"</TextSymbolizer></Rule></Style>
     <Layer name="l"><StyleName>s</StyleName><Datasource><Parameter name="type">geojson</Parameter><Parameter name="inline">${inline}</Parameter></Datasource></Layer></Map>`,
    { strict: true },
  );
  map.loadFonts();
  map.extent = [-10, -10, 10, 10];
  await new Promise<void>((resolve, reject) => {
    map.render(new mapnik.Image(256, 256), { scale: 1, buffer_size: 0 }, (error) =>
      error ? reject(error) : resolve(),
    );
  });
}
