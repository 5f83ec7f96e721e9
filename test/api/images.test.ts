import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import t from "tap";
import { PictureFiles } from "../../src/hosts/picture-files.js";
import { Pictures } from "../../src/hosts/pictures.js";
import { toldCdn } from "../support/cdn.js";
import { quietLog } from "../support/log.js";
import { makeMap } from "../support/maps.js";
import { picture } from "../support/pictures.js";
import { startServer } from "../support/server.js";
import { makeFileLayer, makeObject, send } from "./files.support.js";

/** Attached pictures in other sizes and formats, hostile ones among them. */

const server = await startServer({
  config: { ...toldCdn, "images.memoryBytes": 1_000_000, "images.diskBytes": 2_000_000 },
});
t.teardown(() => server.stop());
const { pictures, image, render, config, blobs } = server.nodes[0]!.services;
await makeMap(server, "m");
await makeFileLayer(server, "a");
const object = await makeObject(server, "a");

const attach = async (bytes: Uint8Array | string, name = "a.png"): Promise<string> => {
  const answer = await send(server, `a/objects/${object}`, { bytes, name });
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json.uuid;
};
const get = async (uuid: string, query = "", headers: Record<string, string> = {}) => {
  const answer = await fetch(`${server.url}/api/2.8/p/image/${uuid}/${query}`, { headers });
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
};
const solid = (width: number, height: number, background: string) =>
  sharp({ create: { width, height, channels: 3, background } });

// Left half red, right half blue, 40 × 20.
const flag = await solid(40, 20, "#ff0000")
  .composite([{ input: await solid(20, 20, "#0000ff").png().toBuffer(), left: 20, top: 0 }])
  .png()
  .toBuffer();
const png = await attach(flag);

t.test("no host runs before the first picture is asked for", async (t) => {
  t.equal(image.pid, undefined);
});

t.test("a picture comes in its own size and format, or another", async (t) => {
  const same = await get(png);
  t.equal(same.status, 200, same.body.toString());
  t.equal(same.headers.get("content-type"), "image/png");
  t.match(await picture(same.body), { width: 40, height: 20 });
  t.match(await picture((await get(png, "?w=20")).body), { width: 20, height: 10 });
  t.match(await picture((await get(png, "?h=40")).body), { width: 80, height: 40 });
  for (const f of ["jpg", "jpeg"]) {
    const jpeg = await get(png, `?f=${f}&w=10`);
    t.equal(jpeg.headers.get("content-type"), "image/jpeg");
    t.same([...jpeg.body.subarray(0, 2)], [0xff, 0xd8]);
  }
});

t.test("fit is that of CSS, when both sides are given", async (t) => {
  const red = [255, 0, 0, 255];
  const blue = [0, 0, 255, 255];
  const shown = async (query: string) => picture((await get(png, query)).body);
  t.match(await shown("?w=20&fit=cover"), { width: 20, height: 10 }, "one side leaves no choice");
  for (const query of ["?w=20&h=20", "?w=20&h=20&fit=fill"]) {
    const fill = await shown(query);
    t.match(fill, { width: 20, height: 20, painted: 400 }, query);
    t.same([fill.at(1, 1), fill.at(18, 18)], [red, blue], query);
  }
  const contain = await shown("?w=20&h=20&fit=contain");
  t.match(contain, { width: 20, height: 20, painted: 200 });
  t.same([contain.at(1, 10), contain.at(18, 10)], [red, blue]);
  const cover = await shown("?w=10&h=20&fit=cover");
  t.match(cover, { width: 10, height: 20, painted: 200 });
  t.same([cover.at(1, 1), cover.at(8, 18)], [red, blue]);
  const none = await shown("?w=60&h=10&fit=none");
  t.match(none, { width: 60, height: 10, painted: 400 });
  t.same([none.at(11, 5), none.at(48, 5)], [red, blue]);
  t.match(await shown("?w=60&h=60&fit=scale-down"), { width: 60, height: 60, painted: 800 });
  t.match(await shown("?w=20&h=20&fit=scale-down"), { width: 20, height: 20, painted: 200 });
  t.match(await shown("?w=60&h=60&fit=inside"), { width: 40, height: 20, painted: 800 });
  t.match(await shown("?w=20&h=20&fit=inside"), { width: 20, height: 10, painted: 200 });
});

t.test("a picture that is not changed has no more bytes than its file", async (t) => {
  const noise = { create: { width: 200, height: 150, channels: 3, background: "#888888" } } as const;
  const noisy = sharp({
    ...noise,
    create: { ...noise.create, noise: { type: "gaussian", mean: 128, sigma: 60 } },
  });
  const small = await noisy.jpeg({ quality: 30 }).toBuffer();
  const uuid = await attach(small, "small.jpg");
  t.ok((await get(uuid, "?w=800&h=800&fit=inside")).body.equals(small));
  t.ok((await get(uuid)).body.equals(small));
  const turned = await attach(
    await sharp(small).withMetadata({ orientation: 6 }).jpeg({ quality: 30 }).toBuffer(),
    "b.jpg",
  );
  t.match(await sharp((await get(turned, "?f=jpg")).body).metadata(), { width: 150, height: 200 });
});

t.test("sizes, fits and formats that are none are refused", async (t) => {
  for (const query of ["?w=1e9", "?w=0", "?h=-1", "?w=1.5", "?w=x", "?h=8193", "?w=5&h=5&fit=stretch"]) {
    t.equal((await get(png, query)).status, 400, query);
  }
  const thin = await attach(await solid(2, 2_000, "#00ff00").png().toBuffer());
  t.equal((await get(thin, "?w=8000")).status, 400, "its other side would be enormous");
  const format = await get(png, "?f=svg");
  t.equal(format.status, 500);
  t.match(JSON.parse(format.body.toString()), { code: "invalid_format" });
  for (const uuid of ["x", "1", "00000000-0000-4000-8000-000000000000", "..%2f..%2fetc%2fpasswd"]) {
    t.equal((await get(uuid)).status, 404, uuid);
  }
});

t.test("a client that has the picture is told so, and caches may keep what is public", async (t) => {
  const first = await get(png, "?w=7");
  const etag = first.headers.get("etag")!;
  t.match(first.headers.get("cache-control"), /^public/);
  t.match(first.headers.get("surrogate-key"), /^mapwright p\d+ m\d+ l\d+ o\d+$/);
  t.equal((await get(png, "?w=7", { "if-none-match": etag })).status, 304);
  t.not((await get(png, "?w=8")).headers.get("etag"), etag);
  const own = await get(png, "?w=7", { "x-token": await server.token("viewer") });
  t.equal(own.headers.get("cache-control"), "private, no-store");
});

t.test("a turned photograph is shown upright", async (t) => {
  const turned = await sharp(flag).jpeg({ quality: 100 }).withMetadata({ orientation: 6 }).toBuffer();
  const uuid = await attach(turned, "a.jpg");
  const upright = await picture((await get(uuid, "?f=png")).body);
  t.match(upright, { width: 20, height: 40 });
  t.ok(upright.at(10, 5)[0] > 200, "red is on top");
  const none = await picture((await get(uuid, "?f=png&w=10&h=50&fit=none")).body);
  t.match(none, { width: 10, height: 50, painted: 400 });
  t.ok(none.at(5, 10)[0] > 200);
});

t.test("pictures of unusual kinds are shown as they are, or refused", async (t) => {
  const red = solid(30, 30, "#ff0000");
  const cmyk = await attach(await red.clone().toColourspace("cmyk").jpeg().toBuffer(), "cmyk.jpg");
  const shown = await picture((await get(cmyk, "?w=15&f=png")).body);
  t.match(shown, { width: 15, height: 15 });
  t.ok(shown.at(7, 7)[0] > 200 && shown.at(7, 7)[2] < 60, `CMYK: ${shown.at(7, 7)}`);
  const deep = await attach(await red.clone().toColourspace("rgb16").png().toBuffer());
  t.same((await picture((await get(deep, "?w=15")).body)).at(7, 7), [255, 0, 0, 255], "16 bit");
  const webp = await get(await attach(await red.clone().webp().toBuffer(), "a.webp"), "?w=10");
  t.equal(webp.headers.get("content-type"), "image/webp");

  const whole = await sharp({
    create: {
      width: 500,
      height: 500,
      channels: 3,
      background: "#fff",
      noise: { type: "gaussian", mean: 128, sigma: 30 },
    },
  })
    .jpeg()
    .toBuffer();
  const cut = await get(await attach(whole.subarray(0, whole.length / 2), "cut.jpg"));
  t.equal(cut.status, 500);
  t.match(JSON.parse(cut.body.toString()), { code: "unsupported_format" });

  const frame = Buffer.from("21f90401000000002c00000000010001000002024401003b", "hex").subarray(0, -1);
  const moving = Buffer.concat([
    Buffer.from("47494638396101000100800000ff0000ffffff", "hex"),
    ...Array.from({ length: 10_000 }, () => frame),
    Buffer.from([0x3b]),
  ]);
  const first = await get(await attach(moving, "a.gif"), "?w=10&f=png");
  t.equal(first.status, 200, first.body.toString().slice(0, 200));
  t.match(await picture(first.body), { width: 10, height: 10 });
});

t.test("a picture of too many pixels is refused before they are read", async (t) => {
  const large = Buffer.from(await solid(2, 2, "#fff").png().toBuffer());
  large.writeUInt32BE(30_000, 16);
  large.writeUInt32BE(30_000, 20);
  large.writeUInt32BE(crc32(large.subarray(12, 29)), 29);
  const answer = await get(await attach(large), "?w=10");
  t.equal(answer.status, 500);
  t.match(JSON.parse(answer.body.toString()), { code: "unsupported_format", message: /pixels/ });
});

t.test("what only calls itself a picture is none", async (t) => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>';
  const masked = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.from(svg)]);
  for (const bytes of [svg, "<html><script>alert(1)</script></html>", masked, "GIF89a", ""]) {
    const uuid = await attach(bytes);
    for (const query of ["", "?w=10", "?f=png"]) {
      const answer = await get(uuid, query);
      t.equal(answer.status, 500, String(bytes).slice(0, 20));
      t.match(JSON.parse(answer.body.toString()), { code: "unsupported_format" });
      t.notMatch(answer.body.toString(), /root:|\/files\//);
    }
  }
});

t.test("damaged pictures fail alone", async (t) => {
  const jpeg = await sharp(flag).jpeg().toBuffer();
  const gif = await sharp(flag).gif().toBuffer();
  for (let i = 0; i < 60; i++) {
    const bytes = Buffer.from([flag, jpeg, gif][i % 3]!);
    for (let k = 0; k < 4; k++) bytes[12 + ((i * 7919 + k * 104_729) % (bytes.length - 12))]! ^= 1 << (i % 8);
    const answer = await get(await attach(bytes), "?w=10");
    t.ok(answer.status === 200 || answer.status === 500, String(answer.status));
    if (answer.status === 500) t.match(JSON.parse(answer.body.toString()).code, "unsupported_format");
  }
  t.equal((await get(png, "?w=9")).status, 200);
});

t.test("a thousand sizes of one picture stay within the memory that they may have", async (t) => {
  for (let i = 0; i < 1_000; i += 20) {
    const sizes = Array.from({ length: 20 }, (_, k) => get(png, `?w=${300 + i + k}&h=5`));
    for (const answer of await Promise.all(sizes)) if (answer.status !== 200) t.fail(answer.body.toString());
  }
  t.ok(pictures.counts().pictures > 10);
  t.ok(pictures.counts().bytes <= 1_000_000);
  const kept = await onDisk();
  t.ok(kept.length > 10);
  // Each takes a block.
  t.ok(kept.length * 4_096 <= 2_000_000, `${kept.length} files`);
});

/** Paths of the resized pictures that are kept on disk. */
const onDisk = async () =>
  (await readdir(join(config.dataDir, "resized"), { recursive: true })).filter((path) => /\.\w+$/.test(path));

t.test("a picture on disk is not made again, and goes with its file", async (t) => {
  const uuid = await attach(await solid(50, 50, "#00ffff").png().toBuffer());
  const { body } = await get(uuid, "?w=33&f=jpg");
  const own = async () => (await onDisk()).filter((path) => path.includes(uuid));
  t.match(await own(), [/\.jpeg$/]);
  // What is on disk is sent as it is.
  const marked = Buffer.concat([body, Buffer.from("marked")]);
  await writeFile(join(config.dataDir, "resized", (await own())[0]!), marked);
  const files = new PictureFiles(join(config.dataDir, "resized"), 2_000_000, quietLog);
  const later = new Pictures({ host: image, render, deadlineMs: 1_000, blobs, files }, 1_000_000);
  const again = await later.resized(
    { blob: uuid, width: 33, height: undefined, fit: "fill", format: "jpeg" },
    { client: "", signal: new AbortController().signal },
  );
  t.ok(marked.equals(again.bytes));
  const { rows } = await server.sql.query("select id from file where uuid = $1", [uuid]);
  const address = `m/layers/a/objects/${object}/files/${rows[0].id}/?field=files`;
  t.equal((await server.api("DELETE", address, { token: await server.token("editor") })).status, 200);
  t.same(await own(), []);
});

t.test("a host that is killed is replaced", async (t) => {
  const pid = image.pid!;
  process.kill(pid, "SIGKILL");
  t.equal((await get(png, "?w=11&h=3")).status, 200);
  t.not(image.pid, pid);
});

t.test("a picture is for those who may read its layer, and only while it is listed", async (t) => {
  const grant =
    "insert into access_grant (project_id, map_id, layer_id, rights) select m.project_id, m.id, n.id, 0 from node n join map m on m.id = n.map_id where n.code = 'a'";
  await server.sql.query(grant);
  await settled();
  t.equal((await get(png, "?w=7")).status, 403);
  t.equal((await get(png, "?w=7", { "x-token": await server.token("editor") })).status, 200);
  await server.sql.query("delete from access_grant");
  await settled();
  t.equal((await get(png, "?w=7")).status, 200);
  const token = await server.token("editor");
  const fields = { files: "" };
  await server.api("PUT", `m/layers/a/objects/${object}/`, { token, body: { fields } });
  t.equal((await get(png, "?w=7")).status, 404);
  const tmp = await readdir(`${server.nodes[0]!.services.config.dataDir}/tmp`);
  t.same(tmp, []);
});

async function settled(): Promise<void> {
  await server.nodes[0]!.services.changes.propagate();
}

/** CRC of PNG's chunks (ISO 3309). */
function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
