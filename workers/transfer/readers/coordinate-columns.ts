import { badGeometry } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import { readCoordinate } from "./coordinate-text.js";
import { GeometryText, isGeometryHex, isGeometryText } from "./geometry-text.js";

/** Which columns of a table hold coordinates or geometry, and how they become the geometry of its rows. */

/** A value of a table: text as the file has it, or a value of a file that has types; null = empty. */
export type Cell = string | number | boolean | null;

/** Indexes of columns. `x` is east, `y` is north. */
export type CoordinateColumns =
  | { readonly kind: "pair"; readonly x: number; readonly y: number }
  | { readonly kind: "geometry"; readonly geometry: number };

/** Words in the names of two columns that belong together, the surest first. Cyrillic х and у are read as x and y. */
const lonLat: readonly (readonly [x: string, y: string])[] = [
  ["longitude", "latitude"],
  ["lon", "lat"],
  ["lng", "lat"],
  ["long", "lat"],
  ["долгота", "широта"],
  ["долг", "шир"],
  ["довгота", "широта"],
  ["longitud", "latitud"],
  ["longitudine", "latitudine"],
  ["längengrad", "breitengrad"],
  ["długość", "szerokość"],
];
/** Words for sizes of things, too: the values have to tell. */
const lengthBreadth: readonly (readonly [x: string, y: string])[] = [
  ["länge", "breite"],
  ["laenge", "breite"],
];
const eastNorth: readonly (readonly [x: string, y: string])[] = [
  ["easting", "northing"],
  ["east", "north"],
  ["восток", "север"],
  ["rechtswert", "hochwert"],
  ["x", "y"],
  ["xcoord", "ycoord"],
  ["coordx", "coordy"],
  ["pointx", "pointy"],
  ["e", "n"],
];
/** Words beside x and y that still mean coordinates, unlike those in "size x". */
const besideXy = new Set(
  (
    "coord coords coordinate coordinates point pos position geo gps wgs wgs84 84 utm epsg 4326 3857 m deg map loc " +
    "location proj center centre centroid координата координаты коорд точка м мск msk gk"
  ).split(" "),
);
const geometryWords = new Set(
  (
    "wkt ewkt wkb ewkb geom geometry geojson shape geodata geo way location polygon the_geom st_astext astext " +
    "геометрия геом геоданные координаты coordinates"
  ).split(" "),
);

/** Lower-case words of a name; notes in brackets are left out: `geo.Lon (°)` → geo, lon. */
const wordsOf = (name: string): string[] =>
  (
    name
      .replace(/[([{].*?[)\]}]/g, " ")
      .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
      .toLowerCase()
      .replaceAll("ё", "е")
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).map((word) => (word === "х" ? "x" : word === "у" ? "y" : word));

/**
 * Finds the columns with the geometry of a table by their names, and by the first rows, half of whose values must be
 * coordinates. Columns with WKT or GeoJSON are found whatever their name is.
 * @param sample cells of the first rows, in the order of the names
 */
export function findCoordinateColumns(
  names: readonly string[],
  sample: readonly (readonly Cell[])[],
): CoordinateColumns | undefined {
  const words = names.map(wordsOf);
  const named = words.map((own, index) => ({ own, index })).filter(({ own }) => own.some(isGeometryWord));
  for (const { index } of named) {
    const isGeometry = (cell: Cell) =>
      typeof cell === "string" && (isGeometryText(cell) || isGeometryHex(cell));
    if (mostly(column(sample, index), isGeometry, 0.5)) return { kind: "geometry", geometry: index };
  }
  const pair = findPair(words, sample);
  if (pair) return pair;
  const isText = (cell: Cell) => typeof cell === "string" && isGeometryText(cell);
  const found = names.findIndex((_, index) => mostly(column(sample, index), isText, 1));
  return found < 0 ? undefined : { kind: "geometry", geometry: found };
}

const isGeometryWord = (word: string): boolean => geometryWords.has(word);

/** Whether two columns of that name hold coordinates. */
type PairCheck = (sample: readonly (readonly Cell[])[], x: number, y: number) => boolean;

function findPair(
  words: readonly (readonly string[])[],
  sample: readonly (readonly Cell[])[],
): CoordinateColumns | undefined {
  const keys = new Map<string, number>();
  words.forEach((own, index) => {
    const key = own.join(" ");
    if (!keys.has(key)) keys.set(key, index);
  });
  const kinds = [
    { pairs: lonLat, mayHaveOthers: () => true, fits: areCoordinates },
    { pairs: eastNorth, mayHaveOthers: isBesideXy, fits: areCoordinates },
    { pairs: lengthBreadth, mayHaveOthers: isBesideXy, fits: areDegrees },
  ];
  for (const { pairs, mayHaveOthers, fits } of kinds) {
    const found = pairs.flatMap(([xWord, yWord]) =>
      words.flatMap((own, x) => {
        if (!own.includes(xWord) || !own.every((word) => word === xWord || mayHaveOthers(word))) return [];
        const y = keys.get(own.map((word) => (word === xWord ? yWord : word)).join(" "));
        return y === undefined ? [] : [{ x, y, words: own.length }];
      }),
    );
    for (const { x, y } of found.sort((a, b) => a.words - b.words)) {
      if (fits(sample, x, y)) return { kind: "pair", x, y };
    }
  }
  return undefined;
}

const isBesideXy = (word: string): boolean => besideXy.has(word);

const areCoordinates: PairCheck = (sample, x, y) =>
  [x, y].every((index) => isCoordinates(column(sample, index)));

/** Digits behind the point of degrees, as no size of a thing has: some ten metres on the ground. */
const degreeDigits = 4;
const hasDigits = (value: number): boolean =>
  Math.abs(value * 10 ** (degreeDigits - 1) - Math.round(value * 10 ** (degreeDigits - 1))) > 1e-6;

/** Whether all rows have both or neither, in the range of degrees, and most as fine as only degrees are. */
const areDegrees: PairCheck = (sample, x, y) => {
  const pairs = sample
    .map((cells) => [cells[x] ?? null, cells[y] ?? null] as const)
    .filter((cells) => !cells.every(isBlank))
    .map(([east, north]) => [coordinateOf(east), coordinateOf(north)] as const);
  const fine = pairs.filter((pair) => pair.every(hasDigits));
  return (
    pairs.length > 0 &&
    pairs.every(([east, north]) => Math.abs(east) <= 180 && Math.abs(north) <= 90) &&
    fine.length >= pairs.length / 2
  );
};

/** Names alone are enough for columns that are empty in the sample. */
function isCoordinates(cells: readonly Cell[]): boolean {
  return cells.length === 0 || mostly(cells, (cell) => !Number.isNaN(coordinateOf(cell)), 0.5);
}

/** The values of a column that are not blank. */
const column = (sample: readonly (readonly Cell[])[], index: number): Cell[] =>
  sample.map((cells) => cells[index] ?? null).filter((cell) => !isBlank(cell));

const isBlank = (cell: Cell): boolean => cell === null || (typeof cell === "string" && cell.trim() === "");

const mostly = (cells: readonly Cell[], fits: (cell: Cell) => boolean, share: number): boolean =>
  cells.length > 0 && cells.filter(fits).length >= cells.length * share;

/** NaN when the cell is none. */
function coordinateOf(cell: Cell): number {
  if (typeof cell === "number") return Number.isFinite(cell) ? cell : Number.NaN;
  return typeof cell === "string" ? readCoordinate(cell) : Number.NaN;
}

/** For the notes of an import. */
export function coordinateNote(names: readonly string[], columns: CoordinateColumns | undefined): string {
  if (!columns)
    return "No column has coordinates: new objects have no geometry, and those that are changed keep theirs. Coordinates are found in columns such as lon and lat, x and y, or wkt.";
  if (columns.kind === "geometry") return `The geometry comes from the column "${names[columns.geometry]}".`;
  return `The coordinates come from the columns "${names[columns.x]}" (east) and "${names[columns.y]}" (north).`;
}

/** Writes the geometry of the rows of a table. */
export class RowGeometry {
  private readonly text: GeometryText;
  private readonly wkb = Buffer.alloc(21);

  /** @param srsIsGiven whether the request names a spatial reference, which takes precedence over that of a cell */
  constructor(
    private readonly columns: CoordinateColumns | undefined,
    srsIsGiven: boolean,
  ) {
    this.text = new GeometryText(srsIsGiven);
    this.wkb[0] = 1;
    this.wkb.writeUInt32LE(1, 1);
  }

  /** Whether the column holds the geometry, and is therefore no property. */
  takes(index: number): boolean {
    const { columns } = this;
    if (!columns) return false;
    return columns.kind === "geometry"
      ? index === columns.geometry
      : index === columns.x || index === columns.y;
  }

  /**
   * @param cellOf the row's cell in a column
   * @throws BadFeature invalid_geometry for cells that are no coordinates, and for one coordinate without the other
   */
  write(row: RowEncoder, cellOf: (column: number) => Cell): void {
    const { columns } = this;
    if (!columns) return;
    if (columns.kind === "geometry") this.geometry(row, cellOf(columns.geometry));
    else this.point(row, cellOf(columns.x), cellOf(columns.y));
  }

  private geometry(row: RowEncoder, cell: Cell): void {
    if (isBlank(cell)) row.noGeometry();
    else this.text.write(row, String(cell));
  }

  private point(row: RowEncoder, xCell: Cell, yCell: Cell): void {
    if (isBlank(xCell) && isBlank(yCell)) {
      row.noGeometry();
      return;
    }
    const x = coordinateOf(xCell);
    const y = coordinateOf(yCell);
    if (Number.isNaN(x) || Number.isNaN(y)) {
      const cell = Number.isNaN(x) ? xCell : yCell;
      throw badGeometry(
        isBlank(cell) ? "it has only one coordinate" : `"${String(cell).slice(0, 80)}" is not a coordinate`,
      );
    }
    this.wkb.writeDoubleLE(x, 5);
    this.wkb.writeDoubleLE(y, 13);
    row.wkbGeometry(this.wkb);
  }
}
