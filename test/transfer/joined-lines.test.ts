import t from "tap";
import { joinLines, joinRings, type Line } from "../../workers/transfer/water/joined-lines.js";

const sorted = (lines: readonly Line[]) =>
  lines.map((line) => line.map((point) => point.join(" ")).join(", "));

t.test("lines are joined where two ends meet, whichever way they run, and not at forks", async (t) => {
  const joined = joinLines([
    [
      [0, 0],
      [1, 0],
    ],
    [
      [2, 0],
      [1, 0],
    ],
    [
      [2, 0],
      [3, 1],
    ],
    [
      [2, 0],
      [3, -1],
    ],
  ]);
  t.strictSame(sorted(joined).sort(), ["2 0, 1 0, 0 0", "3 -1, 2 0", "3 1, 2 0"]);
});

t.test("a ring of lines is joined once", async (t) => {
  const joined = joinLines([
    [
      [0, 0],
      [1, 0],
    ],
    [
      [1, 0],
      [1, 1],
    ],
    [
      [1, 1],
      [0, 0],
    ],
  ]);
  t.equal(joined.length, 1);
  t.equal(joined[0]!.length, 4);
});

t.test("joined lines stay short enough to be read for a tile", async (t) => {
  const pieces = Array.from(
    { length: 5000 },
    (_, x): Line => [
      [x, 0],
      [x + 1, 0],
    ],
  );
  const joined = joinLines(pieces);
  t.ok(joined.length > 1 && joined.every(({ length }) => length <= 801));
  t.equal(
    joined.reduce((sum, { length }) => sum + length - 1, 0),
    5000,
  );
});

t.test("rings are closed from lines that follow each other, and a gap gives none", async (t) => {
  const square: Line[] = [
    [
      [1, 1],
      [0, 1],
      [0, 0],
    ],
    [
      [0, 0],
      [1, 0],
      [1, 1],
    ],
  ];
  t.equal(joinRings(square).length, 1);
  t.equal(
    joinRings([
      [
        [5, 5],
        [6, 5],
        [6, 6],
        [5, 5],
      ],
    ]).length,
    1,
    "one that is closed already",
  );
  t.equal(joinRings(square.slice(0, 1)).length, 0);
});
