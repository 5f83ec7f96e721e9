import { execFileSync } from "node:child_process";
import t from "tap";
import { makeMap } from "../support/maps.js";
import { startServer } from "../support/server.js";

/** Exports in formats other than GeoJSON have every value and vertex, or say what they lack. */

const server = await startServer();
t.teardown(() => server.stop());
const editor = await server.token("editor");
await makeMap(server, "m");

async function must(method: string, path: string, body?: unknown) {
  const answer = await server.api(method, path, { token: editor, body });
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.json;
}
const column = (code: string, body: object) => must("POST", `m/layers/${code}/structure/`, body);

async function exported(code: string, query: string) {
  const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${code}/export/?format=${query}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  t.equal(answer.status, 200, `${query}: ${answer.status === 200 ? "" : bytes}`);
  const header = answer.headers.get("x-export-notes");
  return {
    bytes,
    text: bytes.toString(),
    type: answer.headers.get("content-type"),
    disposition: answer.headers.get("content-disposition"),
    notes: (header === null ? [] : JSON.parse(header)) as string[],
  };
}

/** Runs a Python script that reads `data` and prints JSON of `result`. */
const python = (script: string, input: Buffer) =>
  JSON.parse(
    execFileSync(
      "python3",
      ["-c", `import sys,json,io\ndata=sys.stdin.buffer.read()\n${script}\nprint(json.dumps(result))`],
      { input, encoding: "utf8", maxBuffer: 64 << 20 },
    ),
  );

const long = "я".repeat(40_000);
const values: readonly Record<string, unknown>[] = [
  {
    number: 9007199254740991,
    string: 'Ёлка "🎄" \\ \t;,\n\r\n\u2028 ',
    text: "",
    datetime: "2024-02-29T12:30:00.123456+03:00",
    bool: true,
    json: { a: [1, null, { ключ: "ü<&" }], b: 1e-7 },
  },
  { number: 0.1, string: "", text: "=1+1", datetime: "0001-01-01", bool: false, json: [] },
  { number: -5, string: "'=1", text: "-5", datetime: "9999-12-31T23:59:59Z", json: "-5" },
  { number: 123456789.12345679, string: "'tis _x0041_ _xZ", text: "<b>&amp;]]>", json: -5 },
  { number: -1e-7, string: "@x", text: "007" },
  { string: "\ttab", text: "+7 900" },
  {},
];
const geometries = [
  "POINT(30.123456789012 -50.000000000001)",
  "POINT Z (1 2 1e-7)",
  "MULTIPOLYGON(((170 0,190 0,190 10,170 0),(175 1,189 1,189 2,175 1)),((0 0,1 0,1 1,0 0)))",
  "GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))",
  "MULTILINESTRING Z ((0 0 1,1e-9 1 2),(2 2 3,190 3 4))",
  "MULTIPOINT(1 2,3 4)",
  null,
  "LINESTRING(0 0,1 1)",
  "LINESTRING EMPTY",
];
const types = ["number", "string", "text", "datetime", "bool", "json"] as const;

const { id: allId } = await must("POST", "m/layers/", { code: "all", name: "Дома: <&> 'все'" });
for (const type of types) await column("all", { code: type, type });
for (const [index, geometry] of geometries.entries()) {
  const { id } = await must("POST", "m/layers/all/objects/", { fields: values[index % values.length] });
  await server.sql.query(`update layers.l${allId} set geom = st_geomfromtext($1, 4326) where svc_id = $2`, [
    geometry,
    id,
  ]);
}
const objects: any[] = await must("GET", "m/layers/all/objects/?fields=*&sort=svc_id");
/** The stored geometries as WKT. */
const wkt: (string | null)[] = (
  await server.sql.query(`select st_astext(geom) as g from layers.l${allId} order by svc_id`)
).rows.map(({ g }) => g);

/** A value of the API from its text in a file. */
function fromText(type: string, text: string | null | undefined): unknown {
  if (text === null || text === undefined) return null;
  if (type === "number" || type === "id") return Number(text);
  if (type === "bool") return text === "true" || text === "1";
  return type === "json" ? JSON.parse(text) : text;
}
const expected = objects.map(({ fields }) => types.map((type) => fields[type] ?? null));

/** Cells of a CSV text; null = nothing between two separators. */
function cellsOf(text: string, separator = ";"): (string | null)[][] {
  const lines: (string | null)[][] = [[]];
  const pattern = new RegExp(`("(?:[^"]|"")*"|[^${separator}\r\n"]*)(${separator}|\r\n)`, "y");
  while (pattern.lastIndex < text.length) {
    const [, cell = "", end] = pattern.exec(text) ?? [];
    if (end === undefined) throw new Error(`This is no CSV at ${pattern.lastIndex}.`);
    const value = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell || null;
    lines.at(-1)?.push(value);
    if (end === "\r\n") lines.push([]);
  }
  return lines.slice(0, -1);
}
/** Takes away the apostrophe in front of what looks like a formula. */
const original = (text: string | null) => text?.replace(/^'(?='*[=+\-@\t])/, "") ?? null;

t.test("CSV has every value and vertex", async (t) => {
  const { text, type, disposition, notes } = await exported("all", "csv");
  t.equal(type, "text/csv; charset=utf-8");
  t.match(disposition, /filename="____.*\.csv"/);
  t.same(notes, []);
  const [head, ...rows] = cellsOf(text);
  t.same(head, ["svc_id", ...types, "wkt"]);
  t.same(
    rows.map((cells) =>
      types.map((type, i) => {
        const cell = cells[i + 1] ?? null;
        return fromText(type, type === "string" || type === "text" ? original(cell) : cell);
      }),
    ),
    expected,
  );
  t.same(
    rows.map((cells) => cells[0]),
    objects.map(({ id }) => String(id)),
  );
  const { rows: same } = await server.sql.query(
    "select bool_and(st_orderingequals(a::geometry, b::geometry) or a is null and b is null) as same from unnest($1::text[], $2::text[]) g(a, b)",
    [rows.map((cells) => cells.at(-1)), wkt],
  );
  t.ok(same[0].same);
});

t.test("no cell of a CSV begins as a formula, and numbers stay as they are", async (t) => {
  const { text } = await exported("all", "csv");
  const [, ...rows] = cellsOf(text);
  for (const cells of rows)
    for (const cell of cells) t.notMatch(cell ?? "", /^[=+@\t]|^-(?!\d+(\.\d+)?(e-\d+)?$)/);
  t.match(rows[1]?.[3], "'=1+1");
  t.match(rows[2], [/\d/, "-5", "''=1", "'-5"], "a number is not touched, a text is");
  t.match(rows[3]?.[2], "'tis _x0041_ _xZ");
});

t.test("CSV comes in the dialect and encoding that is asked for", async (t) => {
  for (const [dialect, separator] of [
    ["comma", ","],
    ["semicolon", ";"],
    ["tab", "\t"],
  ] as const) {
    const { text } = await exported("all", `csv&dialect=${dialect}`);
    t.same(cellsOf(text, separator), cellsOf((await exported("all", "csv")).text), dialect);
  }
  const utf8 = (await exported("all", "csv")).text;
  const inCyrillic = utf8.replace(/\u{1f384}|\u2028|ü/gu, "?");
  for (const [name, charset, label] of [
    ["cp1251", "windows-1251", "windows-1251"],
    ["Windows-1251", "windows-1251", "windows-1251"],
    ["cp866", "ibm866", "ibm866"],
    ["koi8-r", "koi8-r", "koi8-r"],
  ] as const) {
    const { bytes, type, notes } = await exported("all", `csv&encoding=${name}`);
    t.equal(type, `text/csv; charset=${charset}`);
    t.equal(new TextDecoder(label).decode(bytes), inCyrillic, name);
    t.match(notes, [/lacks are written as "\?": string \(2 objects\), json \(2 objects\)\./], name);
  }
  const latin = await exported("all", "csv&encoding=iso-8859-1");
  t.equal(latin.bytes.toString("latin1"), utf8.replace(/[^\0-\xff]/gu, "?"));
  const marked = await exported("all", "csv&encoding=utf-8-sig");
  t.equal(marked.text, `\ufeff${utf8}`);
  const wide = await exported("all", "csv&encoding=utf-16");
  t.equal(wide.bytes.toString("utf16le"), `\ufeff${utf8}`);
  t.equal(wide.type, "text/csv; charset=utf-16le");
  for (const query of ["encoding=none", "encoding=utf-7", "encoding=gbk", "dialect=pipe"])
    t.equal((await server.api("GET", `m/layers/all/export/?format=csv&${query}`)).status, 400, query);
});

const readWorkbook = `
import zipfile,re
from xml.etree import ElementTree as E
z=zipfile.ZipFile(io.BytesIO(data)); assert z.testzip() is None
n={'m':'http://schemas.openxmlformats.org/spreadsheetml/2006/main'}
back=lambda s: re.sub(r'_x([0-9A-Fa-f]{4})_',lambda m: chr(int(m[1],16)),s)
def value(c):
  if c.get('t')=='inlineStr': return ['text',back(c.find('m:is/m:t',n).text or ''),c.get('s')]
  return [c.get('t') or 'number',c.find('m:v',n).text]
rows=[[r.get('r'),{c.get('r'):value(c) for c in r}] for r in E.fromstring(z.read('xl/worksheets/sheet1.xml')).iter('{%s}row'%n['m'])]
names=[s.get('name') for s in E.fromstring(z.read('xl/workbook.xml')).iter('{%s}sheet'%n['m'])]
for f in z.namelist(): E.fromstring(z.read(f))
result={'names':names,'rows':rows,'files':z.namelist()}`;

t.test("a workbook has every value and vertex", async (t) => {
  for (const format of ["xls", "xlsx"]) {
    const { bytes, type, disposition, notes } = await exported("all", format);
    t.equal(type, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet");
    t.match(disposition, /\.xlsx"/);
    t.match(notes, [/^Dates are texts in ISO 8601.*: datetime\.$/]);
    t.equal(notes.length, 1);
    const { names, rows } = python(readWorkbook, bytes);
    t.same(names, ["Дома_ <&> 'все_"]);
    t.same(
      Object.values<any>(rows[0][1]).map(([, name]) => name),
      ["svc_id", ...types, "wkt"],
    );
    t.same(
      rows
        .slice(1)
        .map(([number, cells]: any) =>
          types.map((type, i) => fromText(type, cells[`${"BCDEFG"[i]}${number}`]?.[1])),
        ),
      expected,
    );
    t.same(
      rows.slice(1).map(([number, cells]: any) => cells[`H${number}`]?.[1] ?? null),
      wkt.map((text) => text?.replace("1e-07", "0.0000001").replace("1e-09", "0.000000001") ?? null),
    );
    t.match(rows[1][1], { B2: ["number"], C2: ["text"], F2: ["b", "1"], D2: ["text", ""] });
    t.match(rows[2][1].D3, ["text", "=1+1", "1"], "a text that would be a formula has a style of its own");
    t.match(rows[3][1], { B4: ["number", "-5"], C4: ["text", "'=1", "1"], D4: ["text", "-5", "1"] });
  }
});

t.test("what a cell has no room for is named", async (t) => {
  const { id } = await must("POST", "m/layers/", { code: "wide" });
  await column("wide", { code: "s", type: "text" });
  await column("wide", { code: "c", type: "string" });
  for (const s of [long, "🎄".repeat(20_000), "я".repeat(32_767)])
    await must("POST", "m/layers/wide/objects/", { fields: { s, c: "a\u0001_x0002_" } });
  await server.sql.query(
    `update layers.l${id} set geom = (select st_setsrid(st_makeline(st_makepoint(i / 7.0, 0, i / 3.0) order by i), 4326) from generate_series(1, 2000) i) where svc_id = 1`,
  );
  const { bytes, notes } = await exported("wide", "xlsx");
  t.match(notes, [
    "Texts are cut to 32767 characters: s (2 objects).",
    "Geometries of more than 32767 characters are left out: 1 object.",
  ]);
  const { rows } = python(readWorkbook, bytes);
  t.ok(rows[1][1].B2[1] === long.slice(0, 32_767));
  t.ok(rows[2][1].B3[1] === "🎄".repeat(16_383));
  t.ok(rows[3][1].B4[1] === "я".repeat(32_767));
  t.equal(rows[1][1].C2[1], "a\u0001_x0002_");
  t.notOk(rows[1][1].D2);
  const zip = await exported("wide", "xlsx&zip=1");
  t.equal(zip.type, "application/zip");
  const packed = python(
    "import zipfile\nz=zipfile.ZipFile(io.BytesIO(data))\nresult={n: z.read(n).decode('latin1') for n in z.namelist()}",
    zip.bytes,
  );
  t.same(Object.keys(packed), ["wide.xlsx", "README.txt"]);
  for (const note of notes) t.match(packed["README.txt"], note);
  for (const format of ["kml", "gml"]) {
    const xml = await exported("wide", `${format}&fields=c`);
    t.match(xml.notes, ["Control characters, which XML cannot hold, are written as U+FFFD: c (3 objects)."]);
    t.match(xml.text, "a\ufffd_x0002_");
  }
});

/** Values by name and the XML of the geometry of each object; `path` leads to the element of the object. */
const readXml = (path: string, values: string, geometry: string) => `
from xml.etree import ElementTree as E
for p,u in {'':'http://www.opengis.net/kml/2.2','gml':'http://www.opengis.net/gml/3.2'}.items(): E.register_namespace(p,u)
local=lambda e: e.tag.split('}')[1]
result=[]
for o in E.fromstring(data).iterfind('${path}'):
  g=${geometry}
  result.append([{${values}}, None if g is None else E.tostring(g).decode(), [local(e) for e in o]])`;

const kml = "{http://www.opengis.net/kml/2.2}";
const readKml = readXml(
  `.//${kml}Placemark`,
  `e.get('name'): e.text or '' for e in o.iter('${kml}SimpleData')`,
  "o[-1]",
);
const gml = "{http://www.opengis.net/gml/3.2}";
const mw = "{urn:mapwright:layer}";
const readGml = readXml(
  `.//${gml}featureMember/*`,
  `local(e): e.text or '' for e in o if e.tag!='${mw}geom'`,
  `o.find('${mw}geom/*')`,
);

const sameValues = (t: any, found: [Record<string, string>, string | null, string[]][]) =>
  t.same(
    found.map(([own]) => types.map((type) => fromText(type, own[type]))),
    expected,
  );

/** Compares geometries in XML with the stored ones, of which collections are compared by their parts. */
async function sameGeometries(t: any, reader: string, found: readonly (string | null)[]) {
  const { rows } = await server.sql.query(
    `select a.i, st_astext(a.geom) as stored, st_astext(b.geom) as found from
       (select row_number() over (order by svc_id) as i, geom from layers.l${allId}) a
       left join (select i, ${reader}(g) as geom from unnest($1::text[]) with ordinality x(g, i)) b using (i)
     where not (a.geom is null and b.geom is null or st_isempty(a.geom) and st_isempty(b.geom))
       and (select array_agg(st_asewkb(d.geom) order by path) from st_dump(st_setsrid(a.geom, 4326)) d)
         is distinct from (select array_agg(st_asewkb(d.geom) order by path) from st_dump(st_setsrid(b.geom, 4326)) d)`,
    [found],
  );
  t.same(rows, []);
}

t.test("KML has every value and vertex", async (t) => {
  const { bytes, text, type, notes } = await exported("all", "kml");
  t.equal(type, "application/vnd.google-earth.kml+xml");
  t.match(notes, [
    /^Longitudes beyond 180 degrees are kept as they are.*: 2 objects\.$/,
    /^Empty geometries .*: 1 object\.$/,
    "Dates and JSON are texts, since KML has no such types: datetime, json.",
  ]);
  t.equal(notes.length, 3);
  const found = python(readKml, bytes);
  sameValues(t, found);
  t.match(text, "<name>Дома: &lt;&amp;&gt; 'все'</name>");
  t.match(text, "<Placemark><name>@x</name>");
  await sameGeometries(
    t,
    "st_geomfromkml",
    found.map(([, xml]: any) =>
      xml.includes("<ExtendedData")
        ? null
        : xml.replace(/<altitudeMode>absolute<\/altitudeMode>|^.*<MultiGeometry[^>]*\/>$/g, "") || null,
    ),
  );
  t.equal(text.match(/<altitudeMode>absolute</g)?.length, 3, "for each point and line with heights");
});

t.test("KMZ is the KML in an archive, which is not packed again", async (t) => {
  const unpack =
    "import zipfile\nz=zipfile.ZipFile(io.BytesIO(data))\nresult={n: z.read(n).decode() for n in z.namelist()}";
  const { text } = await exported("all", "kml");
  for (const query of ["kmz", "kmz&zip=1"]) {
    const { bytes, type, disposition, notes } = await exported("all", query);
    t.equal(type, "application/vnd.google-earth.kmz");
    t.match(disposition, /\.kmz"/);
    t.equal(notes.length, 3);
    t.same(python(unpack, bytes), { "doc.kml": text });
  }
});

t.test("GML has every value and vertex", async (t) => {
  const { bytes, text, type } = await exported("all", "gml");
  t.equal(type, "application/gml+xml");
  const found = python(readGml, bytes);
  sameValues(t, found);
  t.match(text, "<gml:pos>-50.000000000001 30.123456789012</gml:pos>", "latitude comes first");
  const ids = [...text.matchAll(/gml:id="([^"]*)"/g)].map(([, id]) => id);
  t.equal(new Set(ids).size, ids.length, "no id occurs twice");
  await sameGeometries(
    t,
    "st_geomfromgml",
    // PostGIS reads no empty MultiGeometry.
    found
      .map(([, xml]: any) => (xml?.endsWith("/>") ? null : xml))
      .map((xml: string | null, i: number) =>
        i === geometries.indexOf("LINESTRING EMPTY")
          ? '<gml:MultiPoint xmlns:gml="http://www.opengis.net/gml/3.2"/>'
          : xml,
      ),
  );
  const web = await exported("all", "gml&geomSR=3857&feature_ids=1");
  t.match(web.text, /EPSG::3857" gml:id="g1"><gml:pos>3353327\.\d+ -6446275\.\d+</);
});

t.test("GPX has points and lines, and says what it leaves out", async (t) => {
  const { bytes, notes } = await exported("all", "gpx");
  t.match(notes, [
    "Only points and lines can be held; other objects, and those without geometry, are left out: 4 objects.",
    "Multipoints become one waypoint for each of their points: 1 object.",
    /^Longitudes lie between -180 and 180 degrees.*: 1 object\.$/,
    "Readers may take texts of digits for numbers, since the file does not name types: text (1 object).",
  ]);
  const ns = "{http://www.topografix.com/GPX/1/1}";
  const script = `
from xml.etree import ElementTree as E
n='${ns}'
at=lambda p: [p.get('lat'),p.get('lon'),p.findtext(n+'ele')]
own=lambda o: {e.tag.split('}')[1]: e.text or '' for e in o.find(n+'extensions')}
r=E.fromstring(data)
result={'order':[e.tag.replace(n,'') for e in r],
 'wpt':[[at(o),o.findtext(n+'name'),own(o)] for o in r.iterfind(n+'wpt')],
 'trk':[[[[at(p) for p in s] for s in o.iterfind(n+'trkseg')],own(o)] for o in r.iterfind(n+'trk')]}`;
  const { order, wpt, trk } = python(script, bytes);
  t.same(order, ["metadata", "wpt", "wpt", "wpt", "wpt", "trk", "trk"]);
  t.same(
    wpt.map(([position]: any) => position),
    [
      ["-50.000000000001", "30.123456789012", null],
      ["2", "1", "0.0000001"],
      ["2", "1", null],
      ["4", "3", null],
    ],
  );
  t.same(
    trk.map(([segments]: any) => segments),
    [
      [
        [
          ["0", "0", "1"],
          ["1", "0.000000001", "2"],
        ],
        [
          ["2", "2", "3"],
          ["3", "-170", "4"],
        ],
      ],
      [
        [
          ["0", "0", null],
          ["1", "1", null],
        ],
      ],
    ],
  );
  for (const [position, own] of [
    [0, wpt[0][2]],
    [1, wpt[1][2]],
    [4, trk[0][1]],
  ] as const)
    t.same(
      types.map((type) => fromText(type, own[type])),
      expected[position],
    );
  const web = await exported("all", "gpx&geomSR=3857&feature_ids=1");
  t.match(web.notes, [
    "The geometry is in EPSG:4326, in degrees, since the format has no other reference system.",
  ]);
});

t.test("localised columns have a column for each language", async (t) => {
  await must("POST", "m/layers/", { code: "tongues" });
  await column("tongues", { code: "name", type: "string", localized_value: true });
  await column("tongues", { code: "n", type: "number", localized_value: true });
  await column("tongues", { code: "wkt", type: "string" });
  await must("POST", "m/layers/tongues/objects/", {
    fields: { name: { en: "Moscow", ru: "Москва" }, n: { en: 1, ru: 0.5 }, wkt: "no geometry" },
  });
  await must("POST", "m/layers/tongues/objects/", { fields: { name: { de: "München", ru: "" } } });
  const head = async (query: string) => cellsOf((await exported("tongues", query)).text)[0];
  t.same(await head("csv"), ["svc_id", "name_en", "name_ru", "name:de", "n_en", "n_ru", "wkt", "geom"]);
  t.same(await head("csv&langs=ru"), ["svc_id", "name", "n", "wkt", "geom"]);
  t.same(await head("csv&langs=ru,fr&fields=name"), ["svc_id", "name_ru", "name:fr", "wkt"]);
  t.same(await head("csv&feature_ids=1"), ["svc_id", "name_en", "name_ru", "n_en", "n_ru", "wkt", "geom"]);
  const [, moscow, munich] = cellsOf((await exported("tongues", "csv")).text);
  t.same(moscow, ["1", "Moscow", "Москва", null, "1", "0.5", "no geometry", null]);
  t.same(munich, ["2", null, "", "München", null, null, null, null]);
  const [first] = python(readKml, (await exported("tongues", "kml")).bytes);
  t.same(first[0], {
    svc_id: "1",
    name_en: "Moscow",
    name_ru: "Москва",
    n_en: "1",
    n_ru: "0.5",
    wkt: "no geometry",
  });
  t.match((await exported("tongues", "kml")).text, "<Placemark><name>Moscow</name>");
  const inGml = await exported("tongues", "gml");
  t.match(inGml.notes, [
    "Readers may take empty texts for no value, and leave out the white space that texts begin with: name_ru (1 object).",
    "Names of elements have no colons: name:de is name.de.",
  ]);
  t.match(python(readGml, inGml.bytes)[1][0], { "name.de": "München", name_ru: "" });
});

t.test("an empty layer is an empty file of each format", async (t) => {
  await must("POST", "m/layers/", { code: "empty" });
  t.equal((await exported("empty", "csv")).text, "svc_id;wkt\r\n");
  t.match(python(readWorkbook, (await exported("empty", "xlsx")).bytes), { names: ["empty"], rows: [["1"]] });
  t.same(python(readKml, (await exported("empty", "kml")).bytes), []);
  t.same(python(readGml, (await exported("empty", "gml")).bytes), []);
  t.match(
    (await exported("empty", "gpx")).text,
    /<gpx [^>]*><metadata><name>empty<\/name><\/metadata>\n<\/gpx>\n$/,
  );
});
