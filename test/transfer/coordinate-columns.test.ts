import t from "tap";
import { findCoordinateColumns } from "../../workers/transfer/readers/coordinate-columns.js";
import { readCoordinate } from "../../workers/transfer/readers/coordinate-text.js";

/** Which columns of a table are coordinates, and how these are written. */

const found = (names: string, ...rows: (string | number | null)[][]) =>
  findCoordinateColumns(names.split("|"), rows);

t.test("columns with coordinates are found by their names", async (t) => {
  const names = [
    ["id|lon|lat", 1, 2],
    ["LAT|LON|name", 1, 0],
    ["Latitude|Longitude", 1, 0],
    ["lat|lng", 1, 0],
    ["широта|долгота", 1, 0],
    ["Долгота (WGS84)|Широта (WGS84)", 0, 1],
    ["geo_lat|geo_lon|lat_name", 1, 0],
    ["stopLat|stopLon", 1, 0],
    ["X|Y", 0, 1],
    ["Х|У", 0, 1],
    ["Координата X|Координата Y", 0, 1],
    ["coord_y|coord_x", 1, 0],
    ["POINT_X|POINT_Y", 0, 1],
    ["xcoord|ycoord", 0, 1],
    ["Easting|Northing", 0, 1],
    ["E|N", 0, 1],
    ["x|y|lon|lat", 2, 3],
    ["start_lng|start_lat|lng|lat", 2, 3],
  ] as const;
  for (const [header, x, y] of names) {
    t.strictSame(found(header), { kind: "pair", x, y }, header);
    const row = header.split("|").map(() => "12,5");
    t.strictSame(found(header, row), { kind: "pair", x, y }, header);
  }
});

t.test("names that only resemble coordinates are columns like others", async (t) => {
  for (const header of ["lon|name", "size_x|size_y", "long name|lat", "latin|longer", "n|m", "east|west"])
    t.equal(found(header), undefined, header);
  t.equal(found("x|y", ["red", "blue"], ["green", "1"]), undefined);
  t.match(found("lon|lat", ["37.6", "55.7"], ["none", "none"]), { kind: "pair" }, "half of them are");
});

t.test("Länge and Breite are coordinates where their values are, and else sizes", (t) => {
  const header = "Name|Breite|Länge";
  const pair = { kind: "pair", x: 2, y: 1 };
  t.strictSame(found(header, ["a", "52,49356", "13,39787"], ["b", null, null]), pair);
  t.strictSame(
    found("Name|BREITE (°)|LAENGE (°)", ["a", "-52.4935", "13.4"], ["b", 52.49276, 13.37464]),
    pair,
  );
  for (const [breite, laenge] of [
    ["60", "120"],
    ["1.25", "0.605"],
    [2.5, 13.37464],
    ["52.49356", "213.39787"],
    ["113.39787", "52.49356"],
    ["52.49356", "lang"],
    [null, null],
  ] as const)
    t.equal(found(header, ["a", breite, laenge]), undefined, `${breite} ${laenge}`);
  t.equal(
    found(header, ["a", "52.49356", "13.39787"], ["b", "52.49276", "1337"]),
    undefined,
    "one is too great",
  );
  t.equal(found(header, ["a", "52.49356", "13.39787"], ["b", "52.49276", null]), undefined, "one is alone");
  t.equal(found(header), undefined, "nothing tells");
  t.strictSame(found("Name|Breite|Länge|lat|lon", ["a", "1.25001", "0.60001", "52.1", "13.1"]), {
    kind: "pair",
    x: 4,
    y: 3,
  });
  t.end();
});

t.test("columns with geometry are found by name and by what they hold", async (t) => {
  const point = "POINT (37.6 55.7)";
  const hex = "0101000000CDCCCCCCCCCC42409A99999999D94B40";
  for (const [header, cell] of [
    ["name|the_geom", point],
    ["name|WKT", "SRID=3857;MULTIPOLYGON EMPTY"],
    ["name|geom", hex],
    ["name|wkb_geometry", `\\x${hex}`],
    ["name|GeoJSON", '{"type":"Point","coordinates":[1,2]}'],
    ["name|геометрия", "linestring z(1 2 3,4 5 6)"],
    ["name|something", point],
  ] as const)
    t.strictSame(found(header, ["a", cell], ["b", null]), { kind: "geometry", geometry: 1 }, header);
  t.strictSame(found("lon|lat|geom", ["1", "2", point]), { kind: "geometry", geometry: 2 });
  t.strictSame(found("lon|lat|geom", ["1", "2", "house"]), { kind: "pair", x: 0, y: 1 });
  t.equal(found("name|number", ["a", hex]), undefined, "digits in a column without such a name");
});

t.test("coordinates are read as people write them", async (t) => {
  for (const [text, value] of [
    ["37.6", 37.6],
    [" -0,5 ", -0.5],
    ["+1e2", 100],
    ["6 178 123,45", 6178123.45],
    ["55\u00a0123", 55123],
    ["55.75°", 55.75],
    ["55.75N", 55.75],
    ["S 33,5", -33.5],
    ["30° 30′ в.д.", 30.5],
    ["55°45'36\"N", 55.76],
    ["37º30'0,0''W", -37.5],
    ["-37°30'", -37.5],
  ] as const)
    t.equal(readCoordinate(text), value, text);
  for (const text of [
    "",
    "abc",
    "1,234,5",
    "55 45 36",
    "12'",
    "N55S",
    "-5S",
    "55°60'",
    "1e999",
    "0x10",
    "NaN",
  ])
    t.ok(Number.isNaN(readCoordinate(text)), text);
});
