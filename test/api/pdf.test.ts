import sharp from "sharp";
import t from "tap";
import { makeMap, square } from "../support/maps.js";
import { readPdf } from "../support/pdf.js";
import { startServer } from "../support/server.js";
import { send } from "./files.support.js";

/** Objects as documents. */

const server = await startServer();
t.teardown(() => server.stop());
await makeMap(server, "m");
const token = await server.token("editor");
const layer = (
  await server.api("POST", "m/layers/", {
    token,
    body: { code: "a", localized_name: true, name: { en: "Lakes", ru: "Озёра" } },
  })
).json.id;

const column = async (code: string, type: string, more: Record<string, unknown> = {}) => {
  const { rows } = await server.sql.query(
    `insert into layer_column (layer_id, code, type, name, localized_name, names, parent_id, format, sort)
     values ($1, $2, $3, $4, $5, $6, $7, $8, (select count(*) from layer_column)) returning id`,
    [
      layer,
      code,
      type,
      more.name ?? "",
      Boolean(more.names),
      more.names ?? {},
      more.parent ?? null,
      more.format ?? null,
    ],
  );
  const types: Record<string, string> = {
    number: "double precision",
    file: "bigint[]",
    json: "jsonb",
    bool: "boolean",
  };
  if (type !== "title") {
    await server.sql.query(`alter table layers.l${layer} add column c${rows[0].id} ${types[type] ?? "text"}`);
  }
  return rows[0].id;
};
await column("name", "string", { name: "Name" });
const measures = await column("measures", "title", { names: { en: "Measures", ru: "Измерения" } });
await column("depth", "number", {
  names: { en: "Depth", ru: "Глубина" },
  parent: measures,
  format: { kind: "number", decimals: 1, suffix: " м²" },
});
await column("note", "text");
await column("extra", "json");
await column("photos", "file", { name: "Photos" });
await server.nodes[0]!.services.changes.propagate();

const make = async (fields: unknown, geom?: unknown): Promise<number> => {
  const answer = await server.api("POST", "m/layers/a/objects/", { token, body: { fields, geom } });
  if (answer.status !== 200) throw new Error(answer.text.slice(0, 500));
  return answer.json.id;
};
const print = async (id: number | string, query = "", headers: Record<string, string> = {}) => {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/a/objects/${id}/?f=pdf${query}`, { headers });
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
};
const said = async (id: number, query = "") => {
  const answer = await print(id, query);
  if (answer.status !== 200) throw new Error(answer.body.toString());
  return readPdf(answer.body);
};

t.test("a document has the object's name, attributes under their titles, map and pictures", async (t) => {
  const fields = { name: "Байкал – Ωμέγα – café", depth: 1642.04, note: "one\ntwo", extra: { a: [1] } };
  const id = await make(fields, square(104, 51, 5));
  const photo = await sharp({ create: { width: 60, height: 40, channels: 3, background: "#3366aa" } })
    .png()
    .toBuffer();
  await send(server, `a/objects/${id}`, { bytes: photo, name: "shore.png", field: "photos" });
  await send(server, `a/objects/${id}`, { bytes: "no picture", name: "deed.txt", field: "photos" });
  const answer = await print(id);
  t.equal(answer.status, 200, answer.body.toString().slice(0, 300));
  t.equal(answer.headers.get("content-type"), "application/pdf");
  t.equal(answer.headers.get("content-disposition"), `inline; filename="a-${id}.pdf"`);
  t.equal(answer.body.subarray(0, 5).toString(), "%PDF-");
  const { pages, text, images } = readPdf(answer.body);
  t.equal(pages, 1);
  t.ok(images >= 3, "tiles and a picture");
  const lines = text.split("\n");
  for (const line of [
    "Байкал – Ωμέγα – café",
    "Lakes",
    "Measures",
    "Depth",
    "1,642.0 м²",
    "one",
    "two",
    "Photos",
    "shore.png",
    "deed.txt",
  ]) {
    t.ok(lines.includes(line), line);
  }
  t.ok(lines.indexOf("Measures") < lines.indexOf("Depth"));
  t.ok(lines.indexOf("Name") < lines.indexOf("Measures"));
  const russian = (await said(id, "&lng=ru")).text.split("\n");
  for (const line of ["Озёра", "Измерения", "Глубина", "1\u00a0642,0 м²"]) t.ok(russian.includes(line), line);
});

t.test("what an object holds is text and nothing else", async (t) => {
  const note = "<b>bold</b> </text> %PDF (x) Tj {{7*7}} \\u0041 \u0007\u202e";
  const id = await make({ name: "<script>alert(1)</script>", note });
  const { text, pages } = await said(id);
  t.equal(pages, 1);
  t.ok(text.includes("<script>alert(1)</script>"));
  t.ok(text.replaceAll("\n", " ").includes("<b>bold</b> </text> %PDF (x) Tj {{7*7}} \\u0041"));
});

t.test("scripts from right to left, emoji and unknown characters are printed", async (t) => {
  const id = await make(
    { name: "שלום עולם", note: "مرحبا بالعالم 42 – 😀 👩‍👩‍👧 𠜎 漢字" },
    { type: "Point", coordinates: [35, 32] },
  );
  const { text } = await said(id);
  const words = text.split("\n").slice(0, 2);
  const read = words.map((word) => [...word].toReversed().join(""));
  t.same(read, ["עולם", "שלום"], "what is read first stands at the right");
  t.ok(text.includes("42"));
});

t.test("numbers and brackets stand in their order among words from right to left", async (t) => {
  const id = await make({ name: "בית (ישן) Haifa 12" });
  const turned = (word: string) => [...word].reverse().join("");
  const { text } = await said(id);
  t.same(text.split("\n").slice(0, 4), ["Haifa", "12", `(${turned("ישן")})`, turned("בית")]);
});

t.test("a megabyte of text takes pages, not for ever", async (t) => {
  const words = Array.from({ length: 125_000 }, (_, i) => `слово${(i * 7919) % 10_007}`).join(" ");
  for (const note of [words.slice(0, 1_000_000), "x".repeat(1_000_000), "漢".repeat(300_000)]) {
    const id = await make({ name: "long", note });
    const { pages, text } = await said(id);
    t.ok(pages > 50 && pages < 2_000, String(pages));
    // The fonts have no Chinese: its characters are boxes.
    if (!note.startsWith("漢")) t.ok(text.match(/x|слово/g)!.length >= 90_000);
    t.ok(text.includes(`${pages} / ${pages}`));
  }
});

t.test("geometry of every kind has a map", async (t) => {
  const shapes = [
    { type: "Point", coordinates: [0, 84.9] },
    {
      type: "MultiPoint",
      coordinates: [
        [-179, 0],
        [179, 0],
      ],
    },
    {
      type: "LineString",
      coordinates: [
        [0, 0],
        [1e-7, 0],
      ],
    },
    {
      type: "Polygon",
      coordinates: [
        [
          [-180, -90],
          [180, -90],
          [180, 90],
          [-180, 90],
          [-180, -90],
        ],
      ],
    },
    { type: "GeometryCollection", geometries: [{ type: "Point", coordinates: [1, 1] }] },
  ];
  for (const shape of shapes) {
    const { images } = await said(await make({}, shape));
    t.ok(images >= 2, `${shape.type}: ${images}`);
  }
  const { images, pages } = await said(await make({}, { type: "Point", coordinates: [0, 89.9] }));
  t.same([images, pages], [0, 1], "beyond the map's edge there is nothing to show");
});

t.test("who may not read the layer, or names no object, gets no document", async (t) => {
  t.equal((await print(999_999)).status, 404);
  t.equal((await print("x")).status, 400);
  const id = await make({ name: "secret" });
  const own = await print(id, "", { "x-token": await server.token("viewer") });
  t.equal(own.headers.get("cache-control"), "private, no-store");
  t.equal((await print(id, "", { "x-token": "made-up" })).status, 401);
});

t.test(
  "objects of virtual and materialized layers are documents like others, in their layer's name",
  async (t) => {
    await make({ name: "Derived", depth: 2 }, { type: "Point", coordinates: [1, 2] });
    for (const type of ["virtual", "material"]) {
      const made = await server.api("POST", "m/layers/", {
        token,
        body: {
          code: type,
          name: `The ${type} one`,
          type,
          source: { layer: "a", filter: "name = 'Derived'" },
        },
      });
      t.equal(made.status, 200, made.text);
      const objects = (await server.api("GET", `m/layers/${type}/objects/?fields=name`)).json;
      t.match(objects, [{ fields: { name: "Derived" } }]);
      const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${type}/objects/${objects[0].id}/?f=pdf`);
      t.equal(answer.headers.get("content-type"), "application/pdf");
      const { text, images } = readPdf(new Uint8Array(await answer.arrayBuffer()));
      for (const word of ["Derived", `The ${type} one`, "Measures", "2.0 m²"]) {
        t.ok(text.includes(word.replace("m²", "м²")), `${word} in ${text}`);
      }
      t.ok(images >= 1, "with a map");
      const icon = await fetch(`${server.url}/api/2.8/p/m/layers/${type}/icon/?size=16`);
      t.equal(icon.headers.get("content-type"), "image/png");
      t.match(await sharp(Buffer.from(await icon.arrayBuffer())).metadata(), { width: 16, height: 16 });
    }
  },
);
