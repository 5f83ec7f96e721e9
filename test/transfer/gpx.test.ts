import t from "tap";
import { failureOf, importBench } from "../support/transfer.js";

/** Import of GPX. */

const bench = await importBench();
t.teardown(() => bench.stop());

const gpx = (content: string) =>
  `<?xml version="1.0"?><gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">${content}</gpx>`;

async function imported(content: string) {
  const layer = await bench.layer();
  const result = await bench.import(layer, content, { extension: "gpx" });
  return { ...result, objects: await bench.objects(layer) };
}

t.test("waypoints are points with their values", async (t) => {
  const { objects, notes } = await imported(
    gpx(
      "<metadata><name>no</name></metadata>" +
        '<wpt lat="55.5" lon="37.25"><ele>120.5</ele><time>2020-01-02T03:04:05.678Z</time><name>007</name>' +
        '<cmt>c</cmt><desc><![CDATA[a<b]]></desc><sym>Flag</sym><type>t</type><link href="http://x.example"><text>no</text></link>' +
        "<hdop>1.5</hdop><extensions><x:a>1</x:a><x:b><x:c>д</x:c></x:b></extensions></wpt>" +
        '<wpt lat="-1" lon="180.5"/>',
    ),
  );
  t.match(objects, [
    {
      name: "007",
      cmt: "c",
      desc: "a<b",
      sym: "Flag",
      type: "t",
      link: "http://x.example",
      hdop: 1.5,
      time: "2020-01-02T03:04:05.678+00:00",
      a: 1,
      c: "д",
      geom: "POINT Z (37.25 55.5 120.5)",
    },
    { name: null, geom: "POINT(180.5 -1)" },
  ]);
  t.notOk("kind" in objects[0]!);
  t.same(notes, []);
});

t.test("routes and tracks are lines, told apart when there are several kinds", async (t) => {
  const at = (element: string, x: number, content = "") =>
    `<${element} lat="${x}" lon="${x}">${content}</${element}>`;
  const { objects, notes } = await imported(
    gpx(
      at("wpt", 1, "<name>w</name>") +
        `<rte><name>r</name><number>3</number>${at("rtept", 1)}${at("rtept", 2, "<ele>5</ele>")}</rte>` +
        `<trk><name>t</name><trkseg>${at("trkpt", 1, "<time>2020-01-01T00:00:00Z</time>")}${at("trkpt", 2, "<time>2020-01-01T01:00:00Z</time>")}</trkseg></trk>` +
        `<trk><trkseg>${at("trkpt", 1)}${at("trkpt", 2)}</trkseg><trkseg>${at("trkpt", 9)}</trkseg><trkseg>${at("trkpt", 3)}${at("trkpt", 4)}</trkseg></trk>` +
        "<trk><name>empty</name></trk>",
    ),
  );
  t.match(objects, [
    { kind: "waypoint", name: "w", geom: "POINT(1 1)" },
    { kind: "route", name: "r", number: 3, geom: "LINESTRING Z (1 1 0,2 2 5)" },
    {
      kind: "track",
      name: "t",
      begin: "2020-01-01T00:00:00+00:00",
      end: "2020-01-01T01:00:00+00:00",
      geom: "LINESTRING(1 1,2 2)",
    },
    { kind: "track", geom: "MULTILINESTRING((1 1,2 2),(3 3,4 4))" },
    { kind: "track", name: "empty", geom: null },
  ]);
  t.match(notes, [/first and the last/, /single position/]);
});

t.test("a name that repeats a value is left out, and an empty value stays", async (t) => {
  const { objects } = await imported(
    gpx(
      '<wpt lat="1" lon="2"><name>дуб</name><extensions><ogr:tree>дуб</ogr:tree><ogr:e></ogr:e></extensions></wpt>',
    ),
  );
  t.same(objects, [{ svc_id: 1, tree: "дуб", e: "", geom: "POINT(2 1)" }]);
});

t.test("bad positions are bad rows, and what is no GPX is refused", async (t) => {
  for (const bad of ['<wpt lat="x" lon="1"/>', '<wpt lon="1"/>', '<wpt lat="1" lon="Infinity"/>'])
    t.match(await failureOf(imported(gpx(`<wpt lat="1" lon="2"/>${bad}`))), {
      code: "invalid_geometry",
      data: { feature: 2 },
    });
  for (const bad of ["", "<kml/>", gpx("<wpt>"), gpx("&x;")])
    t.match(await failureOf(imported(bad)), { code: "import_failed" }, bad);
});
