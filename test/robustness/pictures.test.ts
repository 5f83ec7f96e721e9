import { crc32, deflateSync } from "node:zlib";
import sharp from "sharp";
import t from "tap";
import { makeFileLayer, makeObject, send } from "../api/files.support.js";
import { makeMap } from "../support/maps.js";
import { pngChunk, pngOf } from "../support/png.js";
import { randomNumbers } from "../support/random.js";
import { watchSafety } from "../support/safe.js";
import { startServer } from "../support/server.js";

/** Pictures that were damaged or made to do harm: whatever becomes of one, the others are shown. */

const server = await startServer({ config: { "images.deadlineMs": 5_000 } });
t.teardown(() => server.stop());
const { image } = server.nodes[0]!.services;
await makeMap(server, "m");
await makeFileLayer(server, "a");
const object = await makeObject(server, "a");
const safe = await watchSafety(t, server, "/api/2.8/p/m/layers/a/objects/");

const attach = async (bytes: Uint8Array): Promise<string> => {
  const answer = await send(server, `a/objects/${object}`, { bytes, name: "a.png" });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.uuid;
};
/** Status of the picture made smaller, after a look at what is said. */
async function shown(t: Tap, bytes: Uint8Array, query = "?w=10&f=png"): Promise<number> {
  const answer = await safe.ask(`/api/2.8/p/image/${await attach(bytes)}/${query}`);
  if (answer.status === 200) t.match(answer.headers.get("content-type"), /^image\/png/);
  else {
    t.match(answer, { status: 500, json: { error: "error", code: "unsupported_format", data: {} } });
    t.notMatch(answer.text, /vips|\/tmp|\/files\/|\.js:/i);
  }
  return answer.status;
}
type Tap = Pick<typeof t, "match" | "notMatch">;

const dots = numbers(7);
const picture = sharp(Buffer.from(Array.from({ length: 48 * 32 * 3 }, () => dots(256))), {
  raw: { width: 48, height: 32, channels: 3 },
});
const samples = {
  png: await picture.clone().png().toBuffer(),
  palette: await picture.clone().png({ palette: true, progressive: true }).toBuffer(),
  jpeg: await picture.clone().jpeg({ progressive: true }).withMetadata({ orientation: 6 }).toBuffer(),
  gif: await picture.clone().gif().toBuffer(),
};

/** The same numbers in every run. */
function numbers(seed: number): (below: number) => number {
  const next = randomNumbers(seed);
  return (below) => next() % below;
}

/** Bytes changed, cut off, left out or repeated; in a PNG with checksums that are right all the same. */
function mutate(bytes: Buffer, random: (below: number) => number): Buffer {
  const copy = Buffer.from(bytes);
  for (let changes = 1 + random(6); changes > 0; changes--) {
    const at = random(2) === 0 ? random(Math.min(64, copy.length)) : random(copy.length);
    copy[at] = [0, 0xff, 0x7f, 0x80, random(256)][random(5)]!;
  }
  const cut = random(copy.length);
  const mutated = [
    copy,
    copy,
    copy.subarray(0, cut),
    Buffer.concat([copy.subarray(0, cut), copy.subarray(Math.min(copy.length, cut + 1 + random(32)))]),
    Buffer.concat([copy.subarray(0, cut), copy.subarray(Math.floor(cut / 2))]),
  ][random(5)]!;
  return random(2) === 0 ? repaired(mutated) : mutated;
}

/** A PNG whose chunks have their right checksums, as far as its chunks can be followed; anything else as it is. */
function repaired(bytes: Buffer): Buffer {
  if (bytes.readUInt32BE(0) !== 0x89504e47) return bytes;
  const copy = Buffer.from(bytes);
  for (let at = 8; at + 12 <= copy.length; ) {
    const length = copy.readUInt32BE(at);
    const end = at + 8 + length;
    if (end + 4 > copy.length) break;
    copy.writeUInt32BE(crc32(copy.subarray(at + 4, end)), end);
    at = end + 4;
  }
  return copy;
}

t.test("a thousand damaged pictures fail alone", async (t) => {
  const random = numbers(20_261_121);
  const kinds = Object.values(samples);
  const damaged = Array.from({ length: 1_000 }, (_, i) => {
    const bytes = mutate(kinds[i % kinds.length]!, random);
    return bytes.length < 4 ? Buffer.from("none") : bytes;
  });
  const statuses = new Map<number, number>();
  let next = 0;
  const work = async () => {
    for (let bytes = damaged[next++]; bytes; bytes = damaged[next++]) {
      const status = await shown(t, bytes);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  t.ok((statuses.get(200) ?? 0) > 50, "some are shown all the same");
  t.ok((statuses.get(500) ?? 0) > 200, "and many are refused");
  for (const bytes of kinds) t.equal(await shown(t, bytes), 200, "good ones are shown");
  await safe.accept();
  await safe.holds(t, "damaged pictures");
});

t.test(
  "pictures that claim more than anybody should draw are refused before their pixels are read",
  async (t) => {
    const row = deflateSync(Buffer.alloc(30_001 * 3));
    const jpeg = Buffer.from(samples.jpeg);
    for (let at = 2; at + 9 < jpeg.length; at += 2 + jpeg.readUInt16BE(at + 2)) {
      if (jpeg[at + 1] !== 0xc2) continue;
      jpeg.writeUInt16BE(65_500, at + 5);
      jpeg.writeUInt16BE(65_500, at + 7);
      break;
    }
    const gif = Buffer.from(samples.gif);
    // The size of its frame is what counts.
    const frame = gif.indexOf(Buffer.from([0x2c, 0, 0, 0, 0, 48, 0, 32, 0]));
    gif.writeUInt16LE(60_000, frame + 5);
    gif.writeUInt16LE(60_000, frame + 7);
    for (const [name, bytes] of [
      ["a PNG of 30 000 × 30 000", pngOf(30_000, 30_000, { pixels: row })],
      ["a PNG of 2 billion × 1", pngOf(2_147_483_647, 1, { pixels: row })],
      ["a PNG of nothing", pngOf(0, 0, { pixels: row })],
      ["a JPEG of 65 500 × 65 500", jpeg],
      ["a GIF of 60 000 × 60 000", gif],
    ] as const) {
      t.equal(await shown(t, bytes), 500, name);
    }
    await safe.accept();
    await safe.holds(t, "enormous pictures");
  },
);

t.test("what a small picture carries along is not unpacked beyond reason", async (t) => {
  const bomb = deflateSync(Buffer.alloc(200_000_000), { level: 9 });
  const keyed = (type: string) => pngChunk(type, Buffer.concat([Buffer.from("a\0\0", "latin1"), bomb]));
  const international = pngChunk("iTXt", Buffer.concat([Buffer.from("a\0\u0001\0\0\0", "latin1"), bomb]));
  for (const [name, between] of [
    ["text", keyed("zTXt")],
    ["text of any language", international],
    ["a colour profile", keyed("iCCP")],
    ["ten of them", Buffer.concat(Array.from({ length: 10 }, () => keyed("zTXt")))],
  ] as const) {
    const status = await shown(t, pngOf(4, 4, { between }));
    t.ok(status === 200 || status === 500, `${name}: ${status}`);
  }
  // More pixels than the header says.
  t.ok([200, 500].includes(await shown(t, pngOf(4, 4, { pixels: bomb }))));
  t.equal(await shown(t, samples.png), 200);
  t.ok(image.pid !== undefined);
  await safe.accept();
  await safe.holds(t, "bombs in pictures");
});
