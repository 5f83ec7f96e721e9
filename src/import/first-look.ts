import { layerTable } from "../catalog/layer-table.js";
import type { Column } from "../catalog/state.js";
import { areaOf, denseZoom, labelZoom, labelZoomAt, lastZoom, worldMetres } from "../features/label-zoom.js";
import type { GeometryKind } from "../geo/wkb.js";
import type { Queryable } from "../storage/postgres.js";
import {
  type DefaultLook,
  defaultStyle,
  type Importance,
  type Label,
  rarity,
} from "../style/default-style.js";
import { readDefault } from "../style/read-default.js";
import { projectLanguages } from "./project-languages.js";

/** The default style of a layer that has got its first objects: it suits their kind, their number and their names. */

/** Number of points from which on labels keep clear of no points, but of those that are known to have room for them. */
const denseRows = 20_000;
/** Objects, columns of each kind, and characters of a value that are looked at: the layer is locked meanwhile. */
const sampleRows = 1_000;
const mostColumns = 20;
const mostCharacters = 100;

/** Codes of columns that name objects, the best first; a language may follow them. */
const nameCodes = [
  ...["name", "title", "label", "nom", "nombre", "nome", "naam", "navn", "namn", "nimi", "nazwa", "nazev"],
  ...["bezeichnung", "gen", "nazvanie", "naimenovanie"],
];
const nameCode = new RegExp(
  `^(${nameCodes.join("|")})(_?(en|int|long|lat|latin|1|local)|_[a-z]{2}(_[a-z]{2,4})?)?$`,
  "i",
);

const hasLanguage = ({ code }: Column): boolean => /_[a-z]{2}(_[a-z]{2,4})?$/i.test(code);

/** Columns of which the more important objects have more. */
const importanceCode =
  /^(pop|population|pop_?(max|est|total|20\d\d)|inhabitants|einwohner|ewz|habitants|poblacion|populacao|popolazione|inwoners|naselenie)$/i;
/** Objects of which the borders of importance are found: a part of the pages of a file that is sorted by them has other borders. */
const importanceRows = 200_000;
/** Of few objects, and of so many that the third names some. */
const importanceSteps = (rows: number): number => (rows >= rarity ** 3 ? 3 : 2);

export interface FirstObjects {
  readonly layerId: number;
  /** Those of the catalogue and those that the import adds. */
  readonly columns: readonly Column[];
  readonly rows: number;
  /** The kind that the layer had, and the one that it has now. */
  readonly before: GeometryKind;
  readonly kind: GeometryKind;
}

/** Gives the layer the default style that suits its objects, if its style is a default one. Its table has been analyzed. */
export async function dressLayer(tx: Queryable, objects: FirstObjects): Promise<void> {
  const { layerId, before, kind, rows } = objects;
  const [node] = await tx.query<{ css: string }>("select css_style as css from node where id = $1", [
    layerId,
  ]);
  const look = readDefault(node?.css ?? "", before);
  if (!look) return;
  const room = await roomOf(tx, objects);
  const isDense = rows >= denseRows;
  // Of those the average says little: there may be a wall of names where most of them are.
  const isUnknown = isDense && kind === "Point" && !room;
  const label = await labelOf(tx, objects, room?.around ?? 0, isUnknown ? denseZoom : 0);
  const dressed: DefaultLook = {
    ...look,
    hue: look.hue ?? layerId,
    dense: isDense && (isUnknown || !label),
    room: zoomOf(neededPixels[kind], room?.metres ?? 0) ?? (isDense ? denseZoom : undefined),
    label,
  };
  const style = defaultStyle(kind, dressed);
  // Any update of a node makes all nodes read its map again.
  if (style === node!.css) return;
  await tx.execute("update node set css_style = $3 where id = $1 and css_style = $2", [
    layerId,
    node!.css,
    style,
  ]);
}

/** @param around as in `Room` @param atLeast the lowest zoom that it may begin at */
async function labelOf(
  tx: Queryable,
  objects: FirstObjects,
  around: number,
  atLeast: number,
): Promise<Label | undefined> {
  const name = await nameColumn(tx, objects);
  if (!name) return undefined;
  return {
    column: name.column.code,
    fromZoom: Math.max(atLeast, await zoomOfLabels(tx, objects, { around, part: name.part })),
    importance: await importanceOf(tx, objects),
  };
}

/** By what, and from where on, some objects are more important than the others; undefined = nothing tells, or reading it would take long. */
async function importanceOf(
  tx: Queryable,
  { layerId, columns, rows }: FirstObjects,
): Promise<Importance | undefined> {
  const column = columns.find(({ code, type }) => type === "number" && importanceCode.test(code));
  if (!column) return undefined;
  const shares = Array.from({ length: importanceSteps(rows) }, (_, step) => 1 - 1 / rarity ** (step + 1));
  const sampled =
    rows > importanceRows ? ` tablesample system (${(100 * importanceRows) / rows}) repeatable (0)` : "";
  const found = await readBriefly<{ least: number[] | null }>(
    tx,
    `select percentile_disc($1::float8[]) within group (order by ${column.physical}::float8) as least
     from ${layerTable(layerId)}${sampled}`,
    [shares],
  );
  const least = [...new Set((found?.least ?? []).map((value) => Number(value?.toPrecision(2))))];
  // CartoCSS has no exponents, with which other numbers are written.
  return least.length > 0 && least.every((value) => value >= 1 && value < 1e15)
    ? { column: column.code, least }
    : undefined;
}

interface NameColumn {
  readonly column: Column;
  /** Of the objects, those that have a name. */
  readonly part: number;
}

/** The column that evidently names the objects: its code says so, or its values look like names. */
async function nameColumn(
  tx: Queryable,
  { layerId, columns }: FirstObjects,
): Promise<NameColumn | undefined> {
  const texts = columns.filter(({ type }) => type === "string" || type === "text");
  const rank = ({ code }: Column): number => nameCodes.findIndex((one) => code.toLowerCase().startsWith(one));
  const named = texts.filter(({ code }) => nameCode.test(code));
  const [language] = named.length > 1 ? await projectLanguages(tx, layerId) : [];
  const ending = language && `_${language.toLowerCase().replaceAll("-", "_")}`;
  const isOwn = ({ code }: Column): boolean => !!ending && code.toLowerCase().endsWith(ending);
  const called = named.sort(
    (one, other) =>
      rank(one) - rank(other) ||
      // A name without a language may be in any.
      Number(hasLanguage(one)) - Number(hasLanguage(other)) ||
      Number(isOwn(other)) - Number(isOwn(one)) ||
      one.code.length - other.code.length,
  );
  const own = called.find(isOwn);
  // Where some lack a name in the map's language, those without a language are more.
  if (own && !called.some(({ localizedValue }) => localizedValue)) {
    const { areMost, part } = await values(tx, layerId, own);
    if (areMost) return { column: own, part };
  }
  for (const column of called.slice(0, mostColumns)) {
    if (column.localizedValue) return { column, part: 1 };
    const { areShort, part } = await values(tx, layerId, column);
    if (areShort) return { column, part };
  }
  for (const column of texts.slice(0, mostColumns)) {
    if (column.localizedValue) continue;
    const { areNames, part } = await values(tx, layerId, column);
    if (areNames) return { column, part };
  }
  return undefined;
}

interface Values {
  /** Whether nearly all are there, and few lines long. */
  readonly areMost: boolean;
  /** Whether many are there, and few lines long. */
  readonly areShort: boolean;
  /** Whether they are words with capitals besides, and nearly all distinct. */
  readonly areNames: boolean;
  /** Of them, those that are there. */
  readonly part: number;
}

async function values(tx: Queryable, layerId: number, { physical }: Column): Promise<Values> {
  const [found] = await tx.query<Values>(
    `select coalesce(filled >= rows * 0.3 and length <= 40, false) as "areShort",
       coalesce(filled >= rows * 0.9 and length <= 40, false) as "areMost",
       coalesce(rows >= 5 and filled >= rows * 0.9 and length between 3 and 30 and words >= filled * 0.9
         and different >= filled * 0.9, false) as "areNames",
       coalesce(filled::float8 / nullif(rows, 0), 1) as part
     from (select count(*) as rows, count(nullif(v, '')) as filled, avg(length(nullif(v, ''))) as length,
         count(distinct v) as different,
         count(*) filter (where v ~ '^[[:upper:]]' and v ~ '[[:lower:]]{2}' and v !~ '[0-9@/_]') as words
       from (select left(${physical}::text, $2) as v from ${layerTable(layerId)} limit $1) sampled) counted`,
    [sampleRows, mostCharacters],
  );
  return found!;
}

/** For each statement that looks at many objects: the import holds others up meanwhile. */
const readingMs = 1_000;

/** Pixels between objects, or that areas are wide, which symbols of full size need. */
const neededPixels = { Point: 12, LineString: 10, Polygon: 24, Unknown: 12 } as const;
/** Objects of which the room is measured, and how many of the nearest ones of each: the first may lie on the same place. */
const [measuredRows, nearest] = [200, 8];
/** Of more, a part is read to choose from. */
const chosenRows = 20_000;
/** Of those measured, the part that may have less room: dense places are where objects merge. */
const denserPart = 0.25;

/** How near to each other the objects are, in metres; 0 = nothing tells. */
interface Room {
  /** Between them, or as wide as they are. */
  readonly metres: number;
  /** Around half of the points there are `nearest` others that are nearer than this. */
  readonly around: number;
}

/** Undefined = measuring it would take long, as of objects of very many points. */
async function roomOf(tx: Queryable, objects: FirstObjects): Promise<Room | undefined> {
  const { layerId, kind, rows } = objects;
  const table = layerTable(layerId);
  // The same in each import of the same objects.
  const sampled =
    rows > chosenRows ? ` tablesample system (${(100 * chosenRows) / rows}) repeatable (0)` : "";
  const sample = `select svc_id, geom_3857 as geom from ${table}${sampled} where geom_3857 is not null order by md5(svc_id::text) limit ${measuredRows}`;
  const measured = {
    Point: `select n.* from (${sample}) s, lateral (select min(nullif(d, 0)) as metres, case when count(d) = ${nearest} then max(d) end as around
      from (select st_distance(o.geom_3857, s.geom) as d from ${table} o where o.svc_id <> s.svc_id
        order by o.geom_3857 <-> s.geom limit ${nearest}) d) n`,
    LineString: `select ${await areaFor(tx, objects)} / nullif(st_length(geom) * ${rows}, 0) as metres from (${sample}) s`,
    Polygon: `select sqrt(nullif(st_area(geom), 0)) as metres from (${sample}) s`,
    Unknown: `select sqrt(${await areaFor(tx, objects)} / ${Math.max(1, rows)}) as metres`,
  }[kind];
  const share =
    kind === "LineString"
      ? "1 / avg(1 / nullif(metres, 0))"
      : `percentile_cont(${denserPart}) within group (order by metres)`;
  const around = kind === "Point" ? "percentile_cont(0.5) within group (order by around)" : "null::float8";
  const found = await readBriefly<{ metres: number | null; around: number | null }>(
    tx,
    `select ${share} as metres, ${around} as around from (${measured}) m`,
  );
  return found && { metres: Number(found.metres ?? 0), around: Number(found.around ?? 0) };
}

const areaFor = async (tx: Queryable, { layerId }: FirstObjects): Promise<number> =>
  (await areaOf(tx, layerId)) ?? 0;

/** The lowest zoom at which so many metres are so many pixels; undefined = nothing tells. */
function zoomOf(pixels: number, metres: number): number | undefined {
  if (!(metres > 0)) return undefined;
  return Math.min(lastZoom, Math.max(0, Math.ceil(Math.log2((pixels * worldMetres) / 256 / metres))));
}

/** The first row of the statement; undefined when the time that it has is over. */
async function readBriefly<Row extends object>(
  tx: Queryable,
  statement: string,
  values: readonly unknown[] = [],
): Promise<Row | undefined> {
  await tx.execute("savepoint look");
  const begun = performance.now();
  try {
    await tx.execute(`set local statement_timeout = ${readingMs}`);
    const [found] = await tx.query<Row>(statement, values);
    return found;
  } catch (error) {
    // query_canceled, which others may have asked for
    if ((error as { code?: string }).code !== "57014" || performance.now() - begun < readingMs) throw error;
    return undefined;
  } finally {
    // Also brings back the timeout of before.
    await tx.execute("rollback to savepoint look");
  }
}

/**
 * The zoom at which tiles have room for a label of each object that has a name: on average over the layer's area, and where half of the points are,
 * which are dense in a part of it, as towns of the world are.
 */
async function zoomOfLabels(
  tx: Queryable,
  objects: FirstObjects,
  { around, part }: Pick<Room, "around"> & Pick<NameColumn, "part">,
): Promise<number> {
  const onAverage = labelZoom(objects.rows * part, await areaFor(tx, objects));
  const atHalf = around > 0 ? Math.round(labelZoomAt((nearest * part) / (Math.PI * around ** 2))) : 0;
  return Math.min(lastZoom, Math.max(onAverage, atHalf));
}
