import t from "tap";
import { drawnAnew } from "../../bench/looks.js";
import { kindsOf, sessions, tilesOf } from "../../bench/viewers.js";
import { type Place, viewports } from "../../bench/viewports.js";

const places: Place[] = [
  [13.4, 52.5],
  [-70.6, -33.4],
  [179.9, -16.8],
];
const key = ({ z, x, y }: { z: number; x: number; y: number }) => `${z}/${x}/${y}`;

t.test("a session pans by parts of a screen, zooms by a step or two, and asks for each tile once", (t) => {
  const size = { persons: 20, looks: 12, seed: 1 };
  const persons = sessions(places, size);
  t.same(sessions(places, size), persons, "the same for the same seed");
  t.equal(persons.length, 20);
  for (const looks of persons) {
    t.equal(looks.length, 12);
    const asked = tilesOf({ persons: [looks] }).map(key);
    t.equal(new Set(asked).size, asked.length);
    t.ok(looks.every(({ afterMs }) => afterMs >= 50 && afterMs <= 250));
    const zooms = looks.flatMap(({ tiles }) => (tiles[0] ? [tiles[0].z] : []));
    t.ok(zooms.every((zoom) => zoom >= 4 && zoom <= 12));
  }
  const looks = persons.flat();
  t.ok(
    looks.some(({ tiles }) => tiles.length > 0 && tiles.length < 10),
    "parts of a screen are new",
  );
  t.ok(looks.every(({ tiles }) => tiles.length <= 20 && new Set(tiles.map(({ z }) => z)).size <= 1));
  t.end();
});

t.test("the kinds of viewers: viewports, sessions, and viewports of a map that is edited", (t) => {
  const coords = viewports(places, 80, 1);
  const persons = sessions(places, { persons: 2, looks: 3, seed: 1 });
  const [random, session, edited] = kindsOf(coords, persons);
  t.same(tilesOf(random!), coords);
  t.equal(session!.persons, persons);
  t.same(
    tilesOf(edited!),
    [0, 20, 0].flatMap((from) => coords.slice(from, from + 20)),
    "one comes back",
  );
  t.ok(edited!.editsPerSecond! > 0);
  t.same(
    [random, session].map((kind) => kind!.editsPerSecond),
    [undefined, undefined],
  );
  t.end();
});

t.test("a round tells what was drawn for each tile asked for, and is refused when some were kept", (t) => {
  const tile = { z: 4, x: 1, y: 1 };
  const tiles = [tile, { ...tile, x: 2 }, tile, { ...tile, x: 2 }];
  const counts = (renders: number, drawn?: number, encoded?: number) => ({ renders, drawn, encoded });
  t.same(drawnAnew(tiles, counts(1, 16, 10), counts(2, 32, 15)), { drawn: 4, encoded: 1.25 });
  const refused = { message: /^Of 2 tiles (1|0|none) were drawn: the others were not cold\.$/ };
  t.throws(() => drawnAnew(tiles, counts(1, 16, 10), counts(2, 17, 11)), refused);
  t.throws(() => drawnAnew(tiles, counts(1, 16, 10), counts(1, 16, 10)), refused);
  t.same(drawnAnew(tiles, counts(1), counts(2)), { drawn: undefined, encoded: undefined }, "no such counts");
  t.throws(() => drawnAnew(tiles, counts(1), counts(1)), refused);
  t.end();
});
