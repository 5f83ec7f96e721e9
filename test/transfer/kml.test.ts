import t from "tap";
import { failureOf, importBench } from "../support/transfer.js";
import { zipOf } from "../support/zip.js";

/** Import of KML and KMZ. */

const bench = await importBench();
t.teardown(() => bench.stop());

const kml = (content: string, attributes = 'xmlns="http://www.opengis.net/kml/2.2"') =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<kml ${attributes}><Document>${content}</Document></kml>`;
const placemark = (content: string) => `<Placemark>${content}</Placemark>`;

async function imported(content: string | Buffer, extension = "kml") {
  const layer = await bench.layer();
  const result = await bench.import(layer, content, { extension });
  return { ...result, objects: await bench.objects(layer) };
}
const geometryOf = async (content: string) => (await imported(kml(placemark(content)))).objects[0]!.geom;

t.test("names, texts, addresses and times become columns", async (t) => {
  const { objects } = await imported(
    kml(
      placemark(
        "<name>Дом &amp; сад</name><description><![CDATA[<b>x</b>\n&amp;]]> y</description><address>a</address>" +
          "<phoneNumber>tel:1</phoneNumber><styleUrl>#s</styleUrl><TimeStamp><when>2020-02-03T04:05:06Z</when></TimeStamp>",
      ) +
        placemark(
          "<TimeSpan><begin>2020-01-01</begin><end>2021</end></TimeSpan><LookAt><name>no</name></LookAt>",
        ),
    ),
  );
  t.match(objects, [
    {
      name: "Дом & сад",
      description: "<b>x</b>\n&amp; y",
      address: "a",
      phoneNumber: "tel:1",
      timestamp: "2020-02-03T04:05:06+00:00",
      geom: null,
    },
    { name: null, begin: "2020-01-01T00:00:00+00:00", end: "2021" },
  ]);
  t.notOk("styleurl" in objects[0]!);
});

t.test("data have the types of their schema, or those that all values have", async (t) => {
  const schema =
    '<Schema name="Roads" id="r"><SimpleField type="string" name="code"/><SimpleField type="double" name="n"/>' +
    '<SimpleField type="bool" name="b"/><SimpleField type="xsd:int" name="i"/></Schema>';
  const data = (values: Record<string, string>) =>
    `<ExtendedData><SchemaData schemaUrl="#r">${Object.entries(values)
      .map(([name, value]) => `<SimpleData name="${name}">${value}</SimpleData>`)
      .join("")}</SchemaData></ExtendedData>`;
  const typed = await imported(
    kml(
      schema +
        placemark(`<name>007</name>${data({ code: "007", n: "0.1", b: "1", i: "9007199254740991" })}`) +
        placemark(data({ code: "", b: "false" })),
    ),
  );
  t.same(
    typed.objects.map(({ svc_id: _, geom: __, ...values }) => values),
    [
      { code: "007", n: 0.1, b: true, i: 9007199254740991 },
      { code: "", n: null, b: false, i: null },
    ],
    "a name that only repeats a value is left out",
  );
  const untyped = await imported(
    kml(
      placemark(
        '<ExtendedData xmlns:c="x:y"><Data name="n"><displayName>N</displayName><value> 1 </value></Data>' +
          '<Data name="s"><value>1</value></Data><c:own>z</c:own></ExtendedData>',
      ) +
        placemark(
          '<ExtendedData><Data name="n"><value></value></Data><Data name="s"><value>a</value></Data></ExtendedData>',
        ),
    ),
  );
  t.match(untyped.objects, [
    { n: 1, s: "1", own: "z" },
    { n: null, s: "a", own: null },
  ]);
});

t.test("geometries keep their kind, and their heights where there are some", async (t) => {
  const ring = (coordinates: string) => `<LinearRing><coordinates>${coordinates}</coordinates></LinearRing>`;
  const polygon =
    `<Polygon><innerBoundaryIs>${ring("1,1 2,1 2,2 1,1")}</innerBoundaryIs>` +
    `<outerBoundaryIs>${ring("0,0 9,0 9,9 0,0")}</outerBoundaryIs></Polygon>`;
  const point = (coordinates: string) => `<Point><coordinates>${coordinates}</coordinates></Point>`;
  const line = "<LineString><coordinates>181.5,1\n  182,2</coordinates></LineString>";
  const multi = (...members: string[]) => `<MultiGeometry>${members.join("")}</MultiGeometry>`;
  for (const [content, wkt] of [
    [point("1,2"), "POINT(1 2)"],
    [point(" -1.5e1 , 2 , 3 "), "POINT Z (-15 2 3)"],
    [point("0.12345678901234,2,0"), "POINT Z (0.12345678901234 2 0)"],
    [point(""), "POINT EMPTY"],
    ["<Point/>", "POINT EMPTY"],
    [line, "LINESTRING(181.5 1,182 2)"],
    ["<LineString><coordinates>1,2, 3,4, 5,6</coordinates></LineString>", undefined],
    ["<LineString><coordinates>1, 2,3 4 ,5,6</coordinates></LineString>", "LINESTRING Z (1 2 3,4 5 6)"],
    ["<LineString><coordinates>1,2 3,4,5</coordinates></LineString>", "LINESTRING Z (1 2 0,3 4 5)"],
    ["<LineString><coordinates/></LineString>", "LINESTRING EMPTY"],
    [ring("0,0 1,0 1,1 0,0"), "LINESTRING(0 0,1 0,1 1,0 0)"],
    [polygon, "POLYGON((0 0,9 0,9 9,0 0),(1 1,2 1,2 2,1 1))"],
    ["<Polygon/>", "POLYGON EMPTY"],
    [multi(point("1,2"), point("3,4,5")), "MULTIPOINT Z ((1 2 0),(3 4 5))"],
    [multi(polygon), "MULTIPOLYGON(((0 0,9 0,9 9,0 0),(1 1,2 1,2 2,1 1)))"],
    [multi(point("1,2"), multi(line)), "GEOMETRYCOLLECTION(POINT(1 2),MULTILINESTRING((181.5 1,182 2)))"],
    [multi(), "GEOMETRYCOLLECTION EMPTY"],
    [point("1,2") + point("3,4"), "MULTIPOINT((1 2),(3 4))"],
    [
      "<gx:Track><when>2020-01-01T00:00:00Z</when><gx:coord>1 2 3</gx:coord><gx:coord>2 3 4</gx:coord></gx:Track>",
      "LINESTRING Z (1 2 3,2 3 4)",
    ],
    [
      "<gx:MultiTrack><gx:Track><gx:coord>1 2</gx:coord><gx:coord>2 3</gx:coord></gx:Track></gx:MultiTrack>",
      "MULTILINESTRING((1 2,2 3))",
    ],
  ] as const) {
    if (wkt === undefined)
      t.match(await failureOf(geometryOf(content)), { code: "invalid_geometry" }, content);
    else t.equal(await geometryOf(content), wkt, content);
  }
});

t.test("an open ring is closed and said; what is no geometry is a bad row", async (t) => {
  const outer = (coordinates: string) =>
    placemark(
      `<Polygon><outerBoundaryIs><LinearRing><coordinates>${coordinates}</coordinates></LinearRing></outerBoundaryIs></Polygon>`,
    );
  t.match(await imported(kml(outer("0,0 1,0 1,1"))), {
    objects: [{ geom: "POLYGON((0 0,1 0,1 1,0 0))" }],
    notes: [/were closed/],
  });
  for (const bad of [
    outer("0,0 1,0"),
    placemark("<Point><coordinates>1</coordinates></Point>"),
    placemark("<Point><coordinates>1,2,3,4</coordinates></Point>"),
    placemark("<Point><coordinates>1,2 3,4</coordinates></Point>"),
    placemark("<Point><coordinates>1;2</coordinates></Point>"),
    placemark("<Point><coordinates>1,NaN</coordinates></Point>"),
    placemark("<Point><coordinates>1,1e999</coordinates></Point>"),
    placemark("<LineString><coordinates>1,2</coordinates></LineString>"),
    placemark("<gx:Track><gx:coord>1 x</gx:coord></gx:Track>"),
  ])
    t.match(await failureOf(imported(kml(placemark("") + bad))), {
      code: "invalid_geometry",
      data: { feature: 2 },
    });
});

t.test("folders are a column where there are several", async (t) => {
  const folder = (name: string, content: string) => `<Folder><name>${name}</name>${content}</Folder>`;
  const one = await imported(kml(folder("a", placemark("<name>x</name>"))));
  t.notOk("folder" in one.objects[0]!);
  const several = await imported(
    kml(folder("a", placemark("") + folder("b", placemark(""))) + folder("c", placemark("")) + placemark("")),
  );
  t.same(
    several.objects.map(({ folder }) => folder),
    ["a", "a/b", "c", null],
  );
});

t.test("every version and spelling of the namespace is read, and encodings by the declaration", async (t) => {
  const content = placemark("<name>Мир</name><Point><coordinates>1,2</coordinates></Point>");
  for (const attributes of [
    'xmlns="http://earth.google.com/kml/2.0"',
    'xmlns="http://earth.google.com/kml/2.1"',
    'xmlns="http://www.opengis.net/kml/2.3"',
    "",
    'xsi:schemaLocation="x y"',
  ])
    t.match(
      (await imported(kml(content, attributes))).objects,
      [{ name: "Мир", geom: "POINT(1 2)" }],
      attributes,
    );
  const prefixed = kml("").replace("<Document>", content).replace("</Document>", "");
  const tags = prefixed.replace(/<(\/?)([a-zA-Z]+)/g, "<$1k:$2").replace("xmlns=", "xmlns:k=");
  t.match((await imported(tags)).objects, [{ name: "Мир", geom: "POINT(1 2)" }], "with a prefix");
  const utf16 = Buffer.from(`\ufeff${kml(content).replace("UTF-8", "UTF-16")}`, "utf16le");
  t.match((await imported(utf16)).objects, [{ name: "Мир" }]);
  const latin = Buffer.from(
    kml(content).replace("UTF-8", "windows-1251").replace("Мир", "\xcc\xe8\xf0"),
    "latin1",
  );
  t.match((await imported(latin)).objects, [{ name: "Мир" }]);
  t.match(await failureOf(imported(Buffer.from(kml("\xcc"), "latin1"))), {
    message: /not text in the encoding utf-8/,
  });
});

t.test("a KMZ file is read from its doc.kml, alone or in an archive", async (t) => {
  const kmz = await zipOf({
    "other.kml": kml(placemark("<name>no</name>")),
    "doc.kml": kml(placemark("<name>yes</name>")),
    "files/icon.png": "x",
  });
  t.match(await imported(kmz, "kmz"), { objects: [{ name: "yes" }], notes: [/"other\.kml"/] });
  t.match((await imported(await zipOf({ "a.kmz": kmz }), "zip")).objects, [{ name: "yes" }]);
  t.match(await failureOf(imported(await zipOf({ "a.txt": "" }), "kmz")), {
    message: /holds no KML.*"a\.txt"/,
  });
});

t.test("links to other files of a KMZ file are followed, as ogr2ogr writes them", async (t) => {
  const link = (href: string) => `<NetworkLink><Link><href>${href}</href></Link></NetworkLink>`;
  const kmz = await zipOf({
    "doc.kml": kml(link("layers/a.kml") + link("./layers/b%20c.kml") + link("http://127.0.0.1:9/x.kml")),
    "layers/a.kml": kml(placemark("<name>a</name>")),
    "layers/b c.kml": kml(placemark("<name>b</name>")),
    "layers/d.kml": kml(placemark("<name>d</name>")),
  });
  t.match(await imported(kmz, "kmz"), {
    objects: [{ name: "a" }, { name: "b" }],
    notes: [/were followed/, /not read: "layers\/d\.kml"/],
  });
});

t.test("links are not followed, and said", async (t) => {
  const link = "<NetworkLink><Link><href>http://127.0.0.1:9/x.kml</href></Link></NetworkLink>";
  const overlay = "<GroundOverlay><Icon><href>file:///etc/passwd</href></Icon></GroundOverlay>";
  const { objects, notes } = await imported(kml(link + overlay + placemark("<name>a</name>")));
  t.equal(objects.length, 1);
  t.same(notes, ["Of the KML these elements were left out: GroundOverlay, NetworkLink."]);
});

t.test("declared entities are not expanded, and damaged files are refused", async (t) => {
  const laughs = Array.from({ length: 20 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join(
    "",
  );
  const started = performance.now();
  t.match(
    await failureOf(
      imported(
        `<!DOCTYPE kml [<!ENTITY l0 "lol">${laughs}]>${kml(placemark("<name>&l20;</name>")).replace(/^.*\n/, "")}`,
      ),
    ),
    { code: "import_failed", message: /not well-formed.*entity/ },
  );
  t.ok(performance.now() - started < 2_000, "at once");
  t.match(
    await failureOf(
      imported(
        `<!DOCTYPE kml [<!ENTITY x SYSTEM "file:///etc/passwd">]>${kml(placemark("<name>&x;</name>")).replace(/^.*\n/, "")}`,
      ),
    ),
    { message: /entity/ },
  );
  const good = kml(placemark("<name>a</name>"));
  for (const bad of [
    "",
    "hello",
    "<html/>",
    '<OGRVRTDataSource><OGRVRTLayer name="x"><SrcDataSource>/etc/passwd</SrcDataSource></OGRVRTLayer></OGRVRTDataSource>',
    good.slice(0, -3),
    good.slice(0, 100),
    good.replace("</name>", ""),
    good.replace("a</name>", "\u0001</name>"),
    `${good}<x/>`,
    kml("<a>".repeat(1_000) + "</a>".repeat(1_000)),
    kml(`<a ${Array.from({ length: 2_000 }, (_, i) => `a${i}=""`).join(" ")}/>`),
  ])
    t.match(await failureOf(imported(bad)), { code: "import_failed" }, bad.slice(0, 80));
  t.equal(bench.transfer.counts().restarts, 0);
});
