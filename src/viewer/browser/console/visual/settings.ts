import { isMembers } from "../kept-drafts.js";

/**
 * Settings of a visualization (`visualSettings` of the API), as a form changes them: what it does not show stays as it was. Does not
 * depend on the DOM.
 */

/** An answer of the API has all fields, a request only those that are set. */
export interface Visual {
  readonly type: number;
  readonly columnCode?: string | null;
  readonly algorithm?: number;
  readonly classesCount?: number;
  readonly classesSettings?: Readonly<Record<string, unknown>>;
  readonly pointSettings?: Readonly<Record<string, unknown>>;
  readonly showBorder?: boolean;
  readonly borderSettings?: Readonly<Record<string, unknown>>;
  readonly [more: string]: unknown;
}

/** Values of `type`. */
export const kinds = {
  colours: 1,
  categories: 2,
  bubbles: 3,
  pies: 4,
  bars: 5,
  lines: 6,
  heat: 7,
  clusters: 8,
} as const;

export interface Column {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly type: string;
}

/** Whether something that a browser has stored can be shown in the form. The server checks its values. */
export function isVisual(stored: unknown): stored is Visual {
  if (!isMembers(stored)) return false;
  const { type, classesSettings } = stored;
  if (!Object.values<unknown>(kinds).includes(type)) return false;
  const { classes, columns, borders } = isMembers(classesSettings) ? classesSettings : {};
  const areMembers = (list: unknown) => list == null || (Array.isArray(list) && list.every(isMembers));
  return areMembers(classes) && areMembers(columns) && (borders == null || Array.isArray(borders));
}

const measured: ReadonlySet<string> = new Set(["number", "datetime"]);
const named: ReadonlySet<string> = new Set(["string", "text", "bool"]);
const charts: ReadonlySet<number> = new Set([kinds.pies, kinds.bars, kinds.lines]);

export const isChart = ({ type }: Visual): boolean => charts.has(type);
/** Whether its classes have borders, which lie in the spread of the values. */
export const hasClasses = ({ type }: Visual): boolean => type === kinds.colours;

/** The columns that a kind can be built from; of charts those that it can show. */
export function columnsFor(type: number, columns: readonly Column[]): readonly Column[] {
  if (type === kinds.categories)
    return columns.filter(({ type: one }) => named.has(one) || measured.has(one));
  if (type === kinds.colours || type === kinds.bubbles)
    return columns.filter(({ type: one }) => measured.has(one));
  return columns.filter(({ type: one }) => one === "number");
}

/** Whether a kind needs a column that the layer does not have. */
export const lacksColumn = (type: number, columns: readonly Column[]): boolean =>
  type !== kinds.heat && type !== kinds.clusters && columnsFor(type, columns).length === 0;

/** Colours of columns, which people who confuse colours can tell apart. */
const chartColours = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"];
/** That a chart shows at first. */
const firstColumns = 3;

/** Words of numbers that name objects, or say where they are, and measure nothing: `osm_id`, `ObjectID`, `zip_code`. */
const naming = new Set(
  "id fid gid oid uid pid objectid nr no code key plz zip lat lon lng latitude longitude x y".split(" "),
);

function names(code: string): boolean {
  const words = code.split(/[_\W]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());
  return naming.has(words[0]!) || naming.has(words.at(-1)!);
}

const saysMost = (type: number, { code, type: one }: Column): boolean =>
  type === kinds.categories ? one === "string" || one === "bool" : one === "number" && !names(code);

/** The columns for a kind, those first that say most: numbers that name things come first in many tables. */
const bestFirst = (type: number, columns: readonly Column[]): readonly Column[] => {
  const fit = columnsFor(type, columns);
  return [...fit.filter((one) => saysMost(type, one)), ...fit.filter((one) => !saysMost(type, one))];
};

/** Settings of another kind: the column stays where it can be used, the rest is left to the server. */
export function ofKind(type: number, columns: readonly Column[], before?: Visual): Visual {
  const fit = bestFirst(type, columns);
  // Numbers are all different, mostly: they name no categories.
  const same = fit.find(
    (one) => one.code === before?.columnCode && (type !== kinds.categories || named.has(one.type)),
  );
  const column = type === kinds.heat || type === kinds.clusters ? undefined : (same ?? fit[0]);
  const shown = fit.slice(0, firstColumns).map(({ code }, at) => ({ code, color: chartColours[at]! }));
  return {
    type,
    ...(column && { columnCode: column.code }),
    // A chart shows several columns: the name of one would be no title.
    ...(column && !charts.has(type) && { legendName: column.name || column.code }),
    ...(charts.has(type) && { classesSettings: { columns: shown, sizeType: 1, sizeValue: 48 } }),
  };
}

/** Whether each object has a value of its own, as of names, so that they make no categories. A few may well have a class each. */
export function isApart({ type, classesSettings }: Visual): boolean {
  const { classes = [], defaultClass } = (classesSettings ?? {}) as {
    readonly classes?: readonly { readonly count?: number }[];
    readonly defaultClass?: { readonly count?: number };
  };
  const areAlone = classes.length > 0 && classes.every(({ count = 0 }) => count <= 1);
  return type === kinds.categories && areAlone && (defaultClass?.count ?? 0) > 0;
}

/** Columns that are tried for categories before the first one has to do. */
const mostGuessed = 4;

/**
 * A better column for categories: where each object of the first one has a value of its own, as names do, the next with texts.
 * @param settings of the first, with the numbers of objects @param guessed codes of those that were tried
 */
export function betterColumn(
  settings: Visual,
  columns: readonly Column[],
  guessed: readonly string[],
): Column | undefined {
  if (!isApart(settings) || guessed.length >= mostGuessed) return undefined;
  return columns.find(({ code, type }) => (type === "string" || type === "bool") && !guessed.includes(code));
}

/** The settings for another column, of which nothing that was said of the values of the old one is kept. */
export function withColumn(settings: Visual, column: Column): Visual {
  const { algorithm: _, column: _id, ...rest } = settings;
  const {
    breaks: _breaks,
    classes: _classes,
    diverging: _diverging,
    ...classes
  } = settings.classesSettings ?? {};
  const name = column.name || column.code;
  return { ...rest, columnCode: column.code, legendName: name, legendNames: [], classesSettings: classes };
}

/** The settings with another value in one of their members. */
export const withMember = (
  settings: Visual,
  member: "classesSettings" | "pointSettings" | "borderSettings",
  name: string,
  value: unknown,
): Visual => ({ ...settings, [member]: { ...settings[member], [name]: value } });

export const withClass = (settings: Visual, name: string, value: unknown): Visual =>
  withMember(settings, "classesSettings", name, value);

/** Pixels across a point, as the server draws it. */
export const pointSize = ({ pointSettings: points }: Visual): number =>
  points?.sizeEnabled === true ? Number(points.size) : 10;

export const withPointSize = (settings: Visual, size: number): Visual =>
  withMember(withMember(settings, "pointSettings", "size", size), "pointSettings", "sizeEnabled", true);

/** Pixels of the line around points and areas; 0 = none. */
export const borderWidth = ({ showBorder, borderSettings }: Visual): number =>
  showBorder === false ? 0 : Number(borderSettings?.width ?? 1);

export const withBorderLine = (settings: Visual, width: number): Visual => ({
  ...withMember(settings, "borderSettings", "width", width),
  showBorder: width > 0,
});

/** With classes by an algorithm, or another number of them: borders that were set by hand go. */
export const classedBy = (settings: Visual, changed: { algorithm?: number; classesCount?: number }): Visual =>
  withClass({ ...settings, ...changed }, "breaks", undefined);

/** With colours of a palette, in place of those that the settings have. */
export function withPalette(settings: Visual, palette: string): Visual {
  const {
    minColor: _min,
    midColor: _mid,
    maxColor: _max,
    diverging: _zero,
    ...rest
  } = settings.classesSettings ?? {};
  return { ...settings, classesSettings: { ...rest, palette } };
}

/** The borders of its classes, with the least and the greatest value; those of times in seconds since 1970. */
export function bordersOf({ classesSettings: classes }: Visual): readonly number[] {
  const borders = (classes?.borders ?? []) as readonly (number | string)[];
  return borders.map((each) => (typeof each === "number" ? each : Date.parse(each) / 1_000));
}

/** Whether the borders were set by hand. */
export const hasOwnBorders = ({ classesSettings: classes }: Visual): boolean =>
  Array.isArray(classes?.breaks);

/**
 * With another border between two classes, which stays between its neighbours.
 * @param at from 1, as in `bordersOf`
 */
export function withBorder(settings: Visual, at: number, value: number): Visual {
  const borders = bordersOf(settings);
  const [low, high] = [borders[at - 1]!, borders[at + 1]!];
  if (!(value > low && value < high)) return settings;
  const moved = borders.map((each, index) => (index === at ? value : each));
  const classes = { ...settings.classesSettings, breaks: moved.slice(1, -1), borders: moved };
  return { ...settings, classesCount: borders.length - 1, classesSettings: classes };
}

export interface CategoryClass {
  readonly value: unknown;
  readonly color: string;
  readonly count?: number;
  readonly checked?: boolean;
  readonly [more: string]: unknown;
}

export const categoriesOf = ({ classesSettings: classes }: Visual): readonly CategoryClass[] =>
  (classes?.classes ?? []) as readonly CategoryClass[];

/** With something else of a category. */
export const withCategory = (settings: Visual, at: number, changed: Partial<CategoryClass>): Visual =>
  withClass(
    settings,
    "classes",
    categoriesOf(settings).map((each, index) => (index === at ? { ...each, ...changed } : each)),
  );

export interface ChartColumn {
  readonly code: string;
  readonly color: string;
  readonly [more: string]: unknown;
}

export const chartColumnsOf = ({ classesSettings: classes }: Visual): readonly ChartColumn[] =>
  (classes?.columns ?? []) as readonly ChartColumn[];

/** With a column in its charts, or without. One stays. */
export function withChartColumn(settings: Visual, code: string, isShown: boolean): Visual {
  const columns = chartColumnsOf(settings);
  const others = columns.filter((each) => each.code !== code);
  if (!isShown) return others.length === 0 ? settings : withClass(settings, "columns", others);
  const used = new Set(columns.map(({ color }) => color));
  const color =
    chartColours.find((each) => !used.has(each)) ?? chartColours[columns.length % chartColours.length]!;
  return withClass(settings, "columns", [...others, { code, color }]);
}

/** Where a value lies between the least (0) and the greatest (1). */
export interface Scale {
  readonly placeOf: (value: number) => number;
  readonly valueAt: (place: number) => number;
}

/** Of half of the values within this part of the range the classes could not be told apart. */
const crowdedPart = 0.05;

export const numberOf = (value: unknown): number =>
  typeof value === "number" ? value : typeof value === "string" ? Date.parse(value) / 1_000 : Number.NaN;

/** Even, or logarithmic where most values lie close to the least. */
export function scaleOf(values: readonly number[], least: number, most: number): Scale {
  const range = most - least;
  const sorted = Float64Array.from(values).sort();
  const usual = (sorted[sorted.length >> 1] ?? most) - least;
  if (!(range > 0) || usual > crowdedPart * range)
    return {
      placeOf: (value) => (range > 0 ? (value - least) / range : 0),
      valueAt: (place) => least + place * range,
    };
  const unit = Math.max(usual, range * 1e-6);
  const whole = Math.log1p(range / unit);
  return {
    placeOf: (value) => Math.log1p(Math.max(0, value - least) / unit) / whole,
    valueAt: (place) => least + unit * Math.expm1(place * whole),
  };
}

/** Of arrow keys, of a whole scale. */
export const step = 0.005;

/** The value at a place of a scale, as round as a small step there allows: nobody means more digits. */
export function valueNear({ valueAt }: Scale, place: number): number {
  const near = (valueAt(place + step) - valueAt(place - step)) / 2;
  const power = 10 ** (Math.floor(Math.log10(near)) - 1);
  return Number((Math.round(valueAt(place) / power) * power).toPrecision(12));
}

/** How many values lie in each of the parts of a scale, which are equally wide. */
export function spread(values: readonly number[], { placeOf }: Scale, parts: number): number[] {
  const counts = new Array<number>(parts).fill(0);
  for (const value of values) {
    const place = placeOf(value);
    if (place >= 0 && place <= 1) counts[Math.min(parts - 1, Math.floor(place * parts))]! += 1;
  }
  return counts;
}

/** Members that the values make, and not who sets them. */
const computed: ReadonlySet<string> = new Set(["id", "count", "counts", "borders", "fromZoom"]);

/** Tells settings apart, whatever the values of the objects are just then, and in which order a database has them. */
export const signatureOf = (settings: Visual | undefined): string =>
  settings
    ? JSON.stringify(settings, (name, value) => (computed.has(name) ? undefined : inOrder(value)))
    : "";

const inOrder = (value: unknown): unknown =>
  isMembers(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
