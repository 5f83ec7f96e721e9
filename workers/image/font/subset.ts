import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { FontRefusal } from "./sfnt.js";

/**
 * HarfBuzz's subsetter, which writes tables anew and leaves out what is damaged. It is WebAssembly without any imports. Each
 * font has an instance of its own, so that none leaves memory behind.
 */

/** What of it is used here; Node's types lack it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

type Calls = Readonly<
  Record<
    | "malloc"
    | "hb_blob_create"
    | "hb_blob_get_data"
    | "hb_blob_get_length"
    | "hb_face_create"
    | "hb_face_reference_blob"
    | "hb_subset_input_create_or_fail"
    | "hb_subset_input_keep_everything"
    | "hb_subset_input_set_flags"
    | "hb_subset_or_fail"
    | "_initialize",
    (...values: number[]) => number
  >
> & { readonly memory: { readonly buffer: ArrayBuffer } };

const program = new WebAssembly.Module(
  readFileSync(fileURLToPath(import.meta.resolve("harfbuzzjs/dist/harfbuzz-subset.wasm"))),
);

const writable = 2;
const [withoutHinting, withSameNumbers, withOutlineOfMissing] = [0x001, 0x002, 0x040];

/** The font with all its glyphs. @throws FontRefusal */
export function writtenAnew(font: Buffer): Buffer {
  const hb = new WebAssembly.Instance(program).exports as Calls;
  hb._initialize();
  const at = hb.malloc(font.length);
  new Uint8Array(hb.memory.buffer).set(font, at);
  const face = hb.hb_face_create(hb.hb_blob_create(at, font.length, writable, 0, 0), 0);
  const input = hb.hb_subset_input_create_or_fail();
  hb.hb_subset_input_keep_everything(input);
  hb.hb_subset_input_set_flags(input, withoutHinting | withSameNumbers | withOutlineOfMissing);
  const made = hb.hb_subset_or_fail(face, input);
  if (made === 0) throw new FontRefusal("It is damaged.");
  const blob = hb.hb_face_reference_blob(made);
  const start = hb.hb_blob_get_data(blob, 0);
  return Buffer.from(hb.memory.buffer.slice(start, start + hb.hb_blob_get_length(blob)));
}
