import { parse } from "node:path";
import type { FileFormat } from "../hosts/import-messages.js";
import type { Database } from "../storage/postgres.js";
import type { ImportFile } from "./import-request.js";
import type { Matching } from "./match.js";
import { stagedRows } from "./object-match.js";
import type { Preview, PreviewColumn } from "./preview-model.js";
import type { StagedImport } from "./staged-import.js";

/** Finds out what a dry run shows of a file. */

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
  { source, file, table, timeoutMs, options: { signal } }: StagedImport,
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
    files: namedFiles(source.files, file),
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

/** A file that is one layer and does not name it has that of the upload, and the geometry that was read. */
function namedFiles(
  uploaded: readonly Pick<ImportFile, "name">[],
  { files, geometryKind, vertices }: StagedImport["file"],
): readonly FileFormat[] {
  const [only] = files;
  const [layer] = only?.layers ?? [];
  if (files.length !== 1 || !layer || only!.layers.length > 1) return files;
  const name = layer.name || parse(uploaded[0]?.name ?? "").name;
  const geometry =
    layer.geometry ?? (vertices === 0 ? undefined : geometryKind === "Unknown" ? "Geometry" : geometryKind);
  return [{ ...only!, layers: [{ ...layer, name, ...(geometry && { geometry }) }] }];
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
