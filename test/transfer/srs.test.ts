import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import gdal from "gdal-async";
import t from "tap";
import { newReference } from "../../workers/transfer/srs-objects.js";
import { encode } from "../support/encode.js";
import { writeGdalFile } from "../support/gdal-files.js";
import { collection, failureOf, feature, importBench, point } from "../support/transfer.js";
import { zipOf } from "../support/zip.js";

const bench = await importBench();
const folder = mkdtempSync(join(tmpdir(), "mapwright-test-"));
t.teardown(async () => {
  await bench.stop();
  rmSync(folder, { recursive: true });
});
const freshFolder = () => mkdtempSync(join(folder, "gdal-"));

/** Longitude and latitude of what an imported point became, to a millionth of a degree. */
async function placed(geometry: unknown, srs: string | undefined, crs?: unknown): Promise<number[]> {
  const layer = await bench.layer();
  await bench.import(
    layer,
    { ...collection(feature({}, geometry)), ...(crs ? { crs } : {}) },
    srs === undefined ? {} : { srs },
  );
  const [row] = await bench.db.query<{ x: number; y: number }>(
    `select st_x(geom) as x, st_y(geom) as y from layers.l${layer}`,
  );
  return [Math.round(row!.x * 1e5) / 1e5, Math.round(row!.y * 1e5) / 1e5];
}

const named = (name: string) => ({ type: "name", properties: { name } });
const utm33 =
  'PROJCS["WGS 84 / UTM zone 33N",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]],PROJECTION["Transverse_Mercator"],PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",15],PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],PARAMETER["false_northing",0],UNIT["metre",1]]';

t.test("coordinates arrive in longitude and latitude, whatever system they came in", async (t) => {
  t.strictSame(await placed(point(10, 50), undefined), [10, 50]);
  t.strictSame(
    await placed(point(10, 50), "4326"),
    [10, 50],
    "x is the longitude, whatever the register says",
  );
  t.strictSame(await placed(point(10, 50), "EPSG:4258"), [10, 50]);
  t.strictSame(await placed(point(1113194.90793, 6446275.84102), "3857"), [10, 50]);
  t.strictSame(await placed(point(1113194.90793, 6446275.84102), "epsg:3857"), [10, 50]);
  t.strictSame(
    await placed(point(4500107.421, 5317984.71), "31468").then(([x, y]) => [Math.round(x!), Math.round(y!)]),
    [12, 48],
  );
  t.strictSame(await placed(point(500000, 5538630.7), utm33), [15, 50]);
  t.strictSame(
    await placed(point(500000, 5538630.7), "+proj=utm +zone=33 +datum=WGS84 +units=m +no_defs"),
    [15, 50],
  );
});

t.test("a datum shift in proj4 is used", async (t) => {
  const srs =
    "+proj=tmerc +lat_0=0 +lon_0=39 +k=1 +x_0=500000 +y_0=0 +ellps=krass +towgs84=23.57,-140.95,-79.8,0,0.35,0.79,-0.22 +units=m +no_defs";
  t.strictSame(await placed(point(500000, 6200000), srs), [38.99814, 55.92219]);
});

t.test("the file's own EPSG name counts unless the request names another", async (t) => {
  const web = point(1113194.90793, 6446275.84102);
  t.strictSame(await placed(web, undefined, named("urn:ogc:def:crs:EPSG::3857")), [10, 50]);
  t.strictSame(await placed(point(10, 50), undefined, named("urn:ogc:def:crs:OGC:1.3:CRS84")), [10, 50]);
  t.strictSame(await placed(web, "3857", named("EPSG:4326")), [10, 50]);
});

/** A system of PROJ as it writes it in WKT 2, with Cyrillic names. */
const sk42 =
  'PROJCRS["СК-42 / зона 7",BASEGEOGCRS["Пулково 1942 ″гг.″",DATUM["Пулково 1942",ELLIPSOID["Krassowsky 1940",6378245,298.3,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]]],CONVERSION["6-degree Gauss-Kruger zone 7",METHOD["Transverse Mercator",ID["EPSG",9807]],PARAMETER["Latitude of natural origin",0,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Longitude of natural origin",39,ANGLEUNIT["degree",0.0174532925199433]],PARAMETER["Scale factor at natural origin",1,SCALEUNIT["unity",1]],PARAMETER["False easting",7500000,LENGTHUNIT["metre",1]],PARAMETER["False northing",0,LENGTHUNIT["metre",1]]],CS[Cartesian,2],AXIS["northing (X)",north,ORDER[1],LENGTHUNIT["metre",1]],AXIS["easting (Y)",east,ORDER[2],LENGTHUNIT["metre",1]],USAGE[SCOPE["Cadastre, extensions (included)"],AREA["Между 36°E и 42°E, 北京"],BBOX[41.43,36,68.5,42]]]';
/** The same in WKT 1, as ESRI writes it. */
const esri42 =
  'PROJCS["СК-42",GEOGCS["GCS_Пулково",DATUM["D_Pulkovo_1942",SPHEROID["Красовский",6378245.0,298.3]],PRIMEM["Гринвич",0.0],UNIT["Градус °",0.0174532925199433]],PROJECTION["Gauss_Kruger"],PARAMETER["False_Easting",7500000.0],PARAMETER["False_Northing",0.0],PARAMETER["Central_Meridian",39.0],PARAMETER["Scale_Factor",1.0],PARAMETER["Latitude_Of_Origin",0.0],UNIT["Meter",1.0]]';

t.test("names of reference systems hold any letters, in whatever text the file has", async (t) => {
  const place = [7500000, 6176682.2] as const;
  const isThere = ([x, y]: number[], name: string) => {
    t.ok(Math.abs(x! - 39) < 0.01 && Math.abs(y! - 55.72) < 0.01, `${name}: ${x}, ${y}`);
  };
  for (const [name, srs] of Object.entries({
    sk42,
    esri42,
    broken: `${esri42.replaceAll(",", ",\r\n\t")}\n`,
  })) {
    isThere(await placed(point(...place), srs), name);
    isThere(await placed(point(...place), undefined, named(srs)), `crs: ${name}`);
  }
  const reference = () => newReference(() => gdal.SpatialReference.fromWKT(sk42));
  const made = {
    geometryType: gdal.wkbPoint,
    features: [{ wkt: `POINT(${place.join(" ")})` }],
    fields: { n: gdal.OFTInteger },
  };
  const importMade = async (content: unknown, extension: string) => {
    const layer = await bench.layer();
    await bench.import(layer, content, { extension });
    const [row] = await bench.db.query<{ x: number; y: number }>(
      `select st_x(geom) as x, st_y(geom) as y from layers.l${layer}`,
    );
    return [row!.x, row!.y];
  };
  for (const [driver, extension] of [
    ["GPKG", "gpkg"],
    ["FlatGeobuf", "fgb"],
    ["MapInfo File", "tab"],
    ["MapInfo File", "mif"],
  ] as const) {
    const files = writeGdalFile(freshFolder(), { ...made, driver, extension, reference });
    const isAlone = Object.keys(files).length === 1;
    isThere(
      isAlone
        ? await importMade(files[`data.${extension}`], extension)
        : await importMade(await zipOf(files), "zip"),
      extension,
    );
  }
  const shapes = writeGdalFile(freshFolder(), {
    ...made,
    driver: "ESRI Shapefile",
    extension: "shp",
    reference,
  });
  for (const [name, bytes] of Object.entries({
    "utf-8": Buffer.from(esri42),
    "utf-8 with a mark": Buffer.from(`\ufeff${esri42}`),
    "utf-16": Buffer.from(`\ufeff${esri42}`, "utf16le"),
    "windows-1251": encode(esri42, "windows-1251")!,
    "latin 1": Buffer.from(esri42.replace(/[а-яё]/gi, "ü"), "latin1"),
    "wkt 2": Buffer.from(sk42),
  }))
    isThere(await importMade(await zipOf({ ...shapes, "data.prj": bytes }), "zip"), `.prj in ${name}`);
});

const hostile: readonly (readonly [string, string])[] = [
  ["an address", "http://127.0.0.1:9/x"],
  ["an init file", "+init=/etc/passwd:1"],
  ["init epsg", "+init=epsg:3857"],
  ["a grid", "+proj=longlat +nadgrids=/etc/passwd"],
  ["an optional grid", "+proj=longlat +nadgrids=@null"],
  ["a geoid", "+proj=longlat +geoidgrids=x.gtx"],
  ["a pipeline", "+proj=pipeline +step +proj=longlat"],
  ["a path as a value", "+proj=longlat +ellps=../../etc/passwd"],
  ["a file", "/etc/passwd"],
  ["a virtual file", "/vsicurl/http://127.0.0.1:9/x"],
  ["an extension in WKT", utm33.replace(/\]$/, ',EXTENSION["PROJ4","+proj=longlat +nadgrids=/etc/passwd"]]')],
  ["an extension among spaces", utm33.replace(/\]$/, ',EXTEN SION ( "PROJ4","+proj=utm +zone=3"]]')],
  ["an extension behind a name", sk42.replace(/\]$/, ',EXTENSION["PROJ4","+proj=longlat"]]')],
  ["a grid in a method", sk42.replace("Transverse Mercator", "PROJ gridshift grids=/etc/passwd")],
  ["a file of parameters", sk42.replace(/\]$/, ',PARAMETERFILE["x","/etc/passwd"]]')],
  ["letters outside of names", sk42.replace("METHOD", "МЕТОД")],
  ["printed quotation marks", utm33.replaceAll(/"([^"]*)"/g, "“$1”")],
  ["a control character in a name", sk42.replace("СК", "С\u0007К")],
  ["half a pair", sk42.replace("СК", "\ud800")],
  ["letters in proj4", "+proj=longlat +datum=ВГС84"],
  ["a full-width number", "４３２６"],
  ["damaged WKT", 'PROJCS["x"'],
  ["an unknown number", "999999"],
  ["a negative number", "-1"],
  ["esri's register", "ESRI:102100"],
  ["a very long text", `+proj=longlat ${"+units=m ".repeat(5000)}`],
  ["markup", "<xml/>"],
];

t.test("nothing but known words reaches the parsers of spatial references", async (t) => {
  const layer = await bench.layer();
  const before = await bench.state(layer);
  for (const [name, srs] of hostile) {
    t.match(
      await failureOf(bench.import(layer, collection(feature({})), { srs })),
      { code: "import_failed" },
      name,
    );
  }
  for (const crs of [
    { type: "link", properties: { href: "http://127.0.0.1:9/x" } },
    named("/etc/passwd"),
    "EPSG:3857",
    3857,
  ]) {
    t.match(
      await failureOf(bench.import(layer, { ...collection(feature({})), crs })),
      { code: "import_failed" },
      JSON.stringify(crs),
    );
  }
  t.equal(await bench.state(layer), before);
});

t.test("a point that the projection has no place for is named", async (t) => {
  const layer = await bench.layer();
  const failure = await failureOf(
    bench.import(layer, collection(feature({}, point(0, 0)), feature({}, point(1e300, 1e300))), {
      srs: "32633",
    }),
  );
  t.match(failure, { code: "invalid_geometry", data: { feature: 2 } });
});

t.test("a srs that cannot be the file's is refused with the reason", async (t) => {
  const layer = await bench.layer();
  const before = await bench.state(layer);
  const degrees = collection(feature({}, point(37.6, 55.7)), feature({}, null), feature({}, point(-120, 40)));
  const metres = collection(
    feature({}, point(4_187_000, 7_509_000)),
    feature({}, point(4_188_000, 7_509_000)),
  );
  for (const srs of ["3857", "32637", utm33, "+proj=utm +zone=33 +datum=WGS84"]) {
    t.match(await failureOf(bench.import(layer, degrees, { srs })), {
      code: "import_failed",
      message: /look like degrees/,
      data: { parameter: "srs" },
    });
  }
  for (const srs of ["4326", "4284", "4258", "+proj=longlat +ellps=krass"]) {
    t.match(
      await failureOf(bench.import(layer, metres, { srs })),
      {
        code: "invalid_geometry",
        message: /^Feature 1: .*(no degrees: srs does not match the file\.|Does srs match the file\?)$/,
        data: { rows: { length: 2 } },
      },
      srs,
    );
  }
  t.equal(await bench.state(layer), before);
  // A place near the origin of a projection, and one at it, are no degrees.
  const near = collection(
    feature(
      {},
      {
        type: "LineString",
        coordinates: [
          [0, 0],
          [80, 40],
          [900, 40],
        ],
      },
    ),
    feature({}, point(10, 10)),
  );
  await bench.import(layer, near, { srs: "3857" });
  await bench.import(layer, collection(feature({}, point(0, 0))), { srs: "3857" });
  await bench.import(layer, collection(feature({}, point(359, 60))), { srs: "4258" });
  t.equal((await bench.objects(layer)).length, 4);
});

t.test("lines and areas with heights arrive from any system, and count as what they are", async (t) => {
  const ring = [
    [600_000, 6_800_000, 100],
    [610_000, 6_800_000, 110],
    [610_000, 6_810_000, 120],
    [600_000, 6_800_000, 100],
  ];
  const geometries = {
    LineString: ring,
    MultiLineString: [ring, ring.map(([x, y, z]) => [x! + 50_000, y!, z!])],
    Polygon: [ring],
    MultiPolygon: [[ring], [ring.map(([x, y, z]) => [x! + 50_000, y!, z!])]],
  };
  for (const [type, coordinates] of Object.entries(geometries)) {
    const layer = await bench.layer();
    const answer = await bench.import(layer, collection(feature({}, { type, coordinates })), {
      srs: "3857",
    });
    t.same(answer.notes ?? [], [], type);
    const [row] = await bench.db.query<{ dims: number; inside: boolean }>(
      `select st_ndims(geom) as dims, st_xmin(geom) between 5 and 7 and st_ymin(geom) between 50 and 53 as inside
       from layers.l${layer}`,
    );
    t.same(row, { dims: 3, inside: true }, type);
  }
});
