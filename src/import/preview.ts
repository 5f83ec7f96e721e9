import type { ContractBox } from "../geo/envelope.js";
import type { FileFormat } from "../hosts/import-messages.js";
import type { Database } from "../storage/postgres.js";
import type { Matching } from "./match.js";
import { stagedRows } from "./object-match.js";
import type { StagedImport } from "./staged-import.js";

/** What a dry run shows of a file: its layers, the columns that it would get, and its first features. */

export interface Preview {
  readonly files: readonly FileFormat[];
  /** Of the features that can be imported; null = none has a geometry. */
  readonly bbox: ContractBox | null;
  readonly columns: readonly PreviewColumn[];
  readonly features: readonly PreviewFeature[];
}

interface PreviewColumn {
  /** Name in the file. */
  readonly name: string;
  readonly code: string;
  readonly type: string;
  /** Whether the layer does not have it yet. */
  readonly isNew: boolean;
  /** Some of the values, as the file has them. */
  readonly values: readonly string[];
}

interface PreviewFeature {
  /** Number in the file, from 1. */
  readonly row: number;
  /** By the codes of the columns; values as the file has them. */
  readonly fields: Readonly<Record<string, string | null>>;
  /** In EPSG:4326; of one of very many vertices the box. */
  readonly geom: unknown;
}

const most = { rows: 20, columns: 200, characters: 100, values: 5, vertices: 2_000 } as const;

interface StagedRow {
  readonly row: number;
  readonly geom: string | null;
  readonly texts: readonly (string | null)[];
}

interface StagedBox {
  readonly west: number | null;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** @throws what the statements throw, such as when they take longer than an import may */
export async function previewOf(
  db: Database,
  { file, table, timeoutMs, options: { signal } }: StagedImport,
  matching: Matching,
): Promise<Preview> {
  const limits = { timeoutMs, ...(signal && { signal }) };
  const from = stagedRows(table);
  const columns = columnsOf(matching).slice(0, most.columns);
  const texts = columns.map(({ index }) => `left(s.p${index}, ${most.characters})`);
  const rows = await db.query<StagedRow>(
    `select s.row, st_asgeojson(case when st_npoints(s.geom) > ${most.vertices} then st_envelope(s.geom) else s.geom end, 7) as geom,
       array[${texts.join(", ")}]::text[] as texts
     from ${from} order by s.row limit ${most.rows}`,
    [],
    limits,
  );
  const [box] = await db.query<StagedBox>(
    `select st_xmin(b) as west, st_ymin(b) as south, st_xmax(b) as east, st_ymax(b) as north
     from (select st_extent(s.geom) as b from ${from}) boxed`,
    [],
    limits,
  );
  return {
    files: file.files,
    bbox: box?.west == null ? null : { sw: [box.south, box.west], ne: [box.north, box.east] },
    columns: columns.map(({ index: _, ...column }, place) => ({
      ...column,
      values: [...new Set(rows.flatMap(({ texts }) => texts[place] ?? []))].slice(0, most.values),
    })),
    features: rows.map(({ row, geom, texts }) => ({
      row,
      fields: Object.fromEntries(columns.map(({ code }, place) => [code, texts[place] ?? null])),
      geom: geom === null ? null : JSON.parse(geom),
    })),
  };
}

/** The properties of the file that become values, in its order. */
const columnsOf = ({
  known,
  added,
}: Matching): (Omit<PreviewColumn, "values"> & { readonly index: number })[] =>
  [...known.map((one) => ({ ...one, isNew: false })), ...added.map((one) => ({ ...one, isNew: true }))]
    .map(({ index, field, column: { code, type }, isNew }) => ({
      index,
      name: field.name,
      code,
      type,
      isNew,
    }))
    .sort((one, other) => one.index - other.index);
