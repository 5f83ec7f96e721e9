import fc from "fast-check";
import t from "tap";
import { codePattern } from "../../src/catalog/codes.js";
import { parseNotification } from "../../src/changes/notification.js";
import { Failure } from "../../src/errors.js";
import { encodeGeometry } from "../../src/features/geometry.js";
import { createForwardedReader } from "../../src/http/forwarded.js";
import { boundaryOf, MultipartParser, type PartEvent } from "../../src/http/multipart.js";
import { parseParameters } from "../../src/http/query.js";
import { requestedRange } from "../../src/http/range.js";
import { parseJson } from "../../src/json.js";
import { isIconName, isPicturePath, pictureName } from "../../src/style/picture-path.js";
import { answerOf, holds, textsOf } from "./fuzz.support.js";

/** Parsers of what comes with requests, and from other nodes. */

const noLimits = { members: 1e9, values: 1e9 };

t.test("query strings and urlencoded bodies are what URLSearchParams reads, or refused", async (t) => {
  await holds(
    t,
    textsOf(["a", "b", "=", "&", "%", "%20", "%00", "%zz", "%ff", "+", "%F0%9F", ";", "__proto__"]),
    (made) => {
      // The server library gives no others.
      const text = made.replace(/\p{Surrogate}/gu, "\ufffd");
      const found = answerOf(() => parseParameters(text), Failure);
      if (!found) return;
      const read = new URLSearchParams(`&${text}`);
      for (const [name, value] of found) if (read.get(name) !== value) throw new Error(`${name}: ${value}`);
    },
  );
});

t.test("JSON is what JSON.parse reads, or refused", async (t) => {
  const same = (bytes: Buffer) => {
    const found = answerOf(() => ({ value: parseJson(bytes, noLimits) }), Failure);
    if (!found) return;
    const read = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (JSON.stringify(found.value) !== JSON.stringify(read)) throw new Error("another value");
  };
  await holds(t, fc.json({ maxDepth: 8 }), (text) => {
    same(Buffer.from(text));
    if (
      !answerOf(() => ({ value: parseJson(Buffer.from(text), noLimits) }), Failure) &&
      !/\\u|e\+?\d{3}/i.test(text)
    )
      throw new Error("refused without a reason");
  });
  const tokens = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"',
    "1",
    "-",
    "1e400",
    "null",
    "true",
    '"__proto__"',
    "\\u0000",
    "\\ud800",
  ];
  await holds(t, textsOf(tokens), (text) => same(Buffer.from(text)), {
    kept: ["[".repeat(200), '{"a":"\\ud800"}'],
  });
  await holds(t, fc.uint8Array({ maxLength: 60 }), (bytes) => same(Buffer.from(bytes)));
});

t.test("a multipart body is read alike in whatever pieces it comes", async (t) => {
  const lines = [
    "--b\r\n",
    "--b--",
    "--b",
    "\r\n",
    "\r\n\r\n",
    'Content-Disposition: form-data; name="a"\r\n\r\n',
    'content-disposition: form-data; name="f"; filename="x.txt"\r\n\r\n',
    "Content-Disposition: form-data; name*=UTF-8''%e2%82%ac\r\n\r\n",
    "value",
    "-",
  ];
  const events = (chunks: readonly Buffer[]): unknown => {
    const parser = new MultipartParser("b");
    const found: (string | PartEvent)[] = [];
    try {
      for (const chunk of chunks)
        for (const event of parser.push(chunk)) {
          const last = found.at(-1);
          if (event.kind !== "data") found.push(event);
          else if (typeof last === "string") found[found.length - 1] = last + event.bytes.toString("latin1");
          else found.push(event.bytes.toString("latin1"));
        }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      found.push("refused");
    }
    return found;
  };
  await holds(t, fc.tuple(textsOf(lines, 20), fc.array(fc.nat(400), { maxLength: 8 })), ([text, cuts]) => {
    const bytes = Buffer.from(text);
    const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
    const pieces = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
    const [whole, cut] = [events([bytes]), events(pieces)].map((each) => JSON.stringify(each));
    if (whole !== cut && !whole!.includes("refused")) throw new Error(`${whole} and ${cut}`);
  });
  await holds(t, textsOf(["multipart/form-data", ";", "boundary=", '"', "b", " ", "=", "é"]), (text) => {
    const boundary = answerOf(() => boundaryOf(text), Failure);
    if (boundary !== undefined && !(boundary.length > 0 && boundary.length <= 70)) throw new Error(boundary);
  });
});

t.test("ranges lie within the body", async (t) => {
  const header = textsOf(["bytes=", "0", "9", "-", " ", ",", "99999999999999", "bits="], 12);
  await holds(t, fc.tuple(header, fc.nat(1_000)), ([text, bytes]) => {
    const range = requestedRange(text, bytes);
    if (typeof range !== "object") return;
    const { first, last } = range;
    if (!(first >= 0 && first <= last && last < bytes)) throw new Error(`${first}–${last} of ${bytes}`);
  });
});

t.test("forwarded addresses are addresses, and never those that a stranger claims", async (t) => {
  const reader = createForwardedReader("", ["10.0.0.0/8"]);
  const tokens = [
    "1.2.3.4",
    "10.0.0.1",
    ",",
    " ",
    "unknown",
    "[::1]",
    ":80",
    "for=",
    "127.0.0.1",
    ";proto=https",
  ];
  await holds(t, textsOf(tokens, 12), (text) => {
    const header = (name: string) => (name === "x-forwarded-for" ? text : "");
    const stranger = reader.read("9.9.9.9", header);
    if (stranger.remoteAddress !== "9.9.9.9") throw new Error(stranger.remoteAddress);
    const proxied = reader.read("10.0.0.1", header);
    if (!/^[0-9a-f.:]+$/i.test(proxied.remoteAddress)) throw new Error(proxied.remoteAddress);
  });
});

t.test("names that lead to files lead nowhere else", async (t) => {
  const tokens = [
    "symbols",
    "/",
    "..",
    ".",
    "x.svg",
    ".png",
    "[name]",
    "icon:",
    "%2e",
    "\\",
    "//",
    "C:",
    "url(",
  ];
  await holds(t, textsOf(tokens, 10), (text) => {
    const name = pictureName(text) ?? "";
    for (const path of [isPicturePath(text) ? text : "", name.replace(/\[[^\]]*\]/g, "x")]) {
      if (path.split("/").includes("..") || path.startsWith("/") || /[\0\\]/.test(path))
        throw new Error(path);
    }
    if (isIconName(text) && /[./\\]\.|\0/.test(text)) throw new Error(text);
    if (codePattern.test(text) && encodeURIComponent(text) !== text) throw new Error(text);
  });
});

t.test("a geometry is encoded or refused", async (t) => {
  const number = fc.oneof(
    fc.double(),
    fc.integer({ min: -180, max: 180 }),
    fc.constantFrom(null, "1", Number.POSITIVE_INFINITY, -0),
  );
  const position = fc.array(number, { maxLength: 5 });
  const { geometry } = fc.letrec<{ geometry: unknown; coordinates: unknown }>((tie) => ({
    coordinates: fc.oneof(
      { depthSize: "small" },
      position,
      fc.array(position, { maxLength: 6 }),
      fc.array(tie("coordinates"), { maxLength: 4 }),
    ),
    geometry: fc.record(
      {
        type: fc.constantFrom(
          "Point",
          "LineString",
          "Polygon",
          "MultiPoint",
          "MultiLineString",
          "MultiPolygon",
          "GeometryCollection",
          "Circle",
          3,
        ),
        coordinates: tie("coordinates"),
        geometries: fc.array(tie("geometry"), { maxLength: 3, depthIdentifier: "geometry" }),
      },
      { requiredKeys: ["type"] },
    ),
  }));
  await holds(t, geometry, (value) => {
    const bytes = answerOf(() => encodeGeometry(value, { srid: 4326, kind: "Unknown" }), Failure);
    if (bytes && bytes.length < 9) throw new Error("too short to be a geometry");
  });
});

t.test("notifications of other nodes are read or not", async (t) => {
  await holds(
    t,
    textsOf(["L ", "M ", "K ", "B ", "1", " ", "*", "/", ",", "-1", "1e9", "NaN", "node", "Infinity"], 15),
    (text) => {
      const found = parseNotification(text);
      if (found?.kind === "layer") {
        const { id, change } = found;
        if (![id, change.version, change.previous].every(Number.isSafeInteger)) throw new Error(text);
        if (change.area !== null && change.area.length % 4 !== 0) throw new Error(text);
      }
    },
  );
});
