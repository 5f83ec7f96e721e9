import { Refusal } from "../refusal.js";
import type { RowSink } from "../sink.js";
import {
  type Cell,
  type CoordinateColumns,
  coordinateNote,
  findCoordinateColumns,
  RowGeometry,
} from "./coordinate-columns.js";

/** A table that has no places but those in its columns. */
export interface PlainTable {
  readonly names: readonly string[];
  /** Cells of the first rows, in the order of the names. */
  readonly sample: readonly (readonly Cell[])[];
  /** Whether the request names a spatial reference. */
  readonly srsIsGiven: boolean;
}

/**
 * The geometry of the rows of a table: from the columns that the request names, else from those that are found.
 * @throws Refusal invalid_value when the table does not have the named columns
 */
export function tableGeometry(sink: RowSink, { names, sample, srsIsGiven }: PlainTable): RowGeometry {
  const { wantedCoordinates: wanted } = sink;
  const columns = wanted ? columnsNamed(names, wanted) : findCoordinateColumns(names, sample);
  if (columns || !wanted) sink.note(coordinateNote(names, columns));
  sink.coordinates ??= placesOf(columns).map((index) => names[index]!);
  return new RowGeometry(columns, srsIsGiven);
}

function placesOf(columns: CoordinateColumns | undefined): number[] {
  if (!columns) return [];
  return columns.kind === "geometry" ? [columns.geometry] : [columns.x, columns.y];
}

function columnsNamed(names: readonly string[], wanted: readonly string[]): CoordinateColumns | undefined {
  const [first, second] = wanted.map((name) => {
    const index = names.indexOf(name);
    if (index >= 0) return index;
    throw new Refusal("invalid_value", `The file has no column "${name.slice(0, 200)}" with coordinates.`, {
      parameter: "coordinates",
    });
  });
  if (first === undefined) return undefined;
  return second === undefined ? { kind: "geometry", geometry: first } : { kind: "pair", x: first, y: second };
}
