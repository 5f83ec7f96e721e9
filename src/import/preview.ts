import { parse } from "node:path";
import type { FileFormat } from "../hosts/import-messages.js";
import type { Database } from "../storage/postgres.js";
import { nameInFile } from "./choose-fields.js";
import { notationName } from "./column-choices.js";
import type { ImportFile } from "./import-request.js";
import type { Matching } from "./match.js";
import { stagedRows } from "./object-match.js";
import type { Preview, PreviewColumn } from "./preview-model.js";
import type { StagedImport } from "./staged-import.js";

/** Finds out what a dry run shows of a file. */

const most = { rows: 20, columns: 200, characters: 100, values: 5 } as const;

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
    `select s.row, st_asgeojson(${fewVertices("s.geom")}, 7) as geom, array[${texts.join(", ")}]::text[] as texts
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
    ...(file.coordinates && { coordinates: file.coordinates }),
    columns: columns.map(({ index: _, ...column }, place) => ({
      ...column,
      values: [...new Set(rows.flatMap(({ texts }) => texts[place] ?? []))].slice(0, most.values),
    })),
    features: rows.map(({ row, geom, texts }) => ({
      row,
      fields: Object.fromEntries(
        columns.flatMap(({ code }, place) => (code === null ? [] : [[code, texts[place] ?? null]])),
      ),
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

/** Vertices of a shape that is shown as it is, and of one that may be simplified: that takes the square of their number. */
const vertices = { shown: 500, simplified: 4_000 } as const;
/** Parts of a shape's size that are not told apart in a small map. */
const grid = 300;

/**
 * SQL of a geometry with few vertices, whatever was sent: simplified, where that does; else its box. Points are put on a grid
 * first, which takes time in proportion to their number.
 */
const fewVertices = (geom: string): string =>
  `(select case when n <= ${vertices.shown} then ${geom}
     when r is null or st_isempty(r) or st_npoints(r) > ${vertices.shown} then st_envelope(${geom}) else r end
   from (select n, case when st_npoints(g) <= ${vertices.simplified} then st_simplify(g, step) end as r
     from (select n, step, case when n > ${vertices.shown} then st_snaptogrid(${geom}, step) end as g
       from (select st_npoints(${geom}) as n, greatest(st_xmax(${geom}) - st_xmin(${geom}),
         st_ymax(${geom}) - st_ymin(${geom})) / ${grid} as step offset 0) sized offset 0) snapped offset 0) simplified)`;

/** The properties of the file, in its order. */
const columnsOf = ({
  known,
  added,
  leftOut,
}: Matching): (Omit<PreviewColumn, "values"> & { readonly index: number })[] =>
  [
    ...known.map((one) => ({ ...one, isNew: false, isRead: true })),
    ...added.map((one) => ({ ...one, isNew: true, isRead: true })),
    ...leftOut.map((one) => {
      const column = { code: null, type: one.field.type };
      return { ...one, column, isNew: false, isRead: false };
    }),
  ]
    .map(({ index, field, column: { code, type }, isNew, isRead }) => ({
      index,
      name: nameInFile(field),
      code,
      type,
      ...(field.notation && field.notation !== "loose" && { notation: notationName(field.notation) }),
      isNew,
      isRead,
    }))
    .sort((one, other) => one.index - other.index);
