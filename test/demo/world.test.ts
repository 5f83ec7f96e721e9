import t from "tap";
import { cutAtAntimeridian } from "../../src/demo/antimeridian.js";
import { cities } from "../../src/demo/cities.js";
import { borderLines, countries, landPieces, regionName } from "../../src/demo/world.js";

/** Whether a ring goes across the map from one edge to the other, other than along a pole. */
const jumps = (ring: readonly (readonly number[])[]): boolean =>
  ring.some(([lon, lat], index) => {
    const before = ring[index - 1];
    return before !== undefined && Math.abs(lon! - before[0]!) > 180 && Math.abs(lat!) < 90;
  });

t.test("no polygon crosses the map where the world is cut", async (t) => {
  for (const resolution of ["10m", "50m"] as const) {
    const rings = [
      ...countries(resolution).flatMap((country) => country.geometry.coordinates.flat()),
      ...landPieces(resolution).flatMap((piece) => piece.coordinates),
    ];
    t.ok(rings.length > 1000);
    t.strictSame(rings.filter(jumps), []);
    t.strictSame(
      rings.filter((ring) => ring.length < 4 || ring[0]!.join() !== ring.at(-1)!.join()),
      [],
    );
    t.strictSame(
      rings.filter((ring) => ring.some(([lon]) => Math.abs(lon!) > 180)),
      [],
    );
  }
});

t.test("a ring across the antimeridian becomes a piece on either side", async (t) => {
  const pieces = cutAtAntimeridian([
    [
      [170, 0],
      [-170, 0],
      [-170, 10],
      [170, 10],
      [170, 0],
    ],
  ]);
  t.strictSame(
    pieces.map(([ring]) => ring!.map(([lon]) => lon)),
    [
      [-170, -180, -180, -170, -170],
      [180, 170, 170, 180, 180],
    ],
  );
});

t.test("a coast around a pole becomes an area", async (t) => {
  const [[ring]] = cutAtAntimeridian([
    [
      [-180, -80],
      [-60, -70],
      [60, -75],
      [180, -80],
      [-180, -80],
    ],
  ]) as [[number[][]]];
  t.strictSame(ring!.slice(-3), [
    [180, -90],
    [-180, -90],
    [-180, -80],
  ]);
});

t.test("countries have areas, names and tints that set them apart", async (t) => {
  const list = countries("10m");
  const find = (iso: string) => list.find((country) => country.iso === iso)!;
  t.equal(find("RU").name, "Russia");
  t.equal(regionName("ru", "RU"), "Россия");
  for (const [iso, area] of [
    ["RU", 17e6],
    ["FR", 6.4e5],
    ["FJ", 1.83e4],
  ] as const) {
    t.ok(Math.abs(find(iso).squareKilometres / area - 1) < 0.05, `${iso} ${find(iso).squareKilometres}`);
  }
  const neighbours = [
    ["FR", "DE"],
    ["FR", "ES"],
    ["RU", "KZ"],
    ["US", "CA"],
    ["CN", "IN"],
    ["BR", "AR"],
    ["CD", "AO"],
  ];
  for (const [one, other] of neighbours) t.not(find(one!).tint, find(other!).tint, `${one} ${other}`);
});

t.test("borders lie between countries, not on coasts nor on the edge of the map", async (t) => {
  const points = borderLines("10m").flatMap((line) => (line.type === "LineString" ? line.coordinates : []));
  t.ok(points.length > 10_000);
  t.notOk(points.some(([lon]) => Math.abs(lon!) > 179.99));
});

t.test("every town is there, and those that matter are shown first", async (t) => {
  const list = cities(new Map());
  t.ok(list.length > 130_000);
  const rank = (name: string) =>
    Math.min(...list.filter((city) => city.name === name).map((city) => city.rank));
  for (const name of ["Tokyo", "London", "Moscow"]) t.equal(rank(name), 3, name);
  t.ok(rank("Paris") <= 5);
  t.ok(rank("Orléans") > rank("Paris"));
  t.ok(list.every((city, index) => index === 0 || city.rank >= list[index - 1]!.rank));
});
