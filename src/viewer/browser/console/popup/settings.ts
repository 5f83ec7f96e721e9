import { namedColumns, type PlacedColumn, valueColumns } from "../../value-columns.js";

/** What a popup shows, as it is kept in a layer's settings: `viewer.title` and `viewer.columns`. Does not depend on the DOM. */

export type Settings = Readonly<Record<string, unknown>>;

export interface Popup {
  /** Code of the column whose value is the title; undefined = the viewer finds one. */
  readonly title: string | undefined;
  /** Codes of the columns that are shown, in their order; undefined = all, as the layer has them. */
  readonly columns: readonly string[] | undefined;
}
/** A column that can be shown. */
export interface PopupColumn<Column extends PlacedColumn = PlacedColumn> {
  readonly column: Column;
  isShown: boolean;
}

const isObject = (value: unknown): value is Settings =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function popupIn(settings: Settings | null | undefined): Popup {
  const { title, columns } = isObject(settings?.viewer) ? settings.viewer : ({} as Settings);
  return {
    title: typeof title === "string" && title !== "" ? title : undefined,
    columns: Array.isArray(columns) ? columns.filter((code) => typeof code === "string") : undefined,
  };
}

/** The settings with this popup; all else in them stays. */
export function withPopup(settings: Settings | null | undefined, { title, columns }: Popup): Settings {
  const { viewer, ...others } = (settings ?? {}) as Settings;
  const { title: _title, columns: _columns, ...more } = isObject(viewer) ? viewer : ({} as Settings);
  const kept = { ...more, ...(title !== undefined && { title }), ...(columns && { columns }) };
  return Object.keys(kept).length > 0 ? { ...others, viewer: kept } : others;
}

export const isSamePopup = (one: Popup, other: Popup): boolean =>
  one.title === other.title && JSON.stringify(one.columns) === JSON.stringify(other.columns);

/** All columns with values: those that are shown in their order, then the others as the layer has them. */
export function columnsOf<Column extends PlacedColumn>(
  { columns: codes }: Popup,
  columns: readonly Column[],
): PopupColumn<Column>[] {
  const all = valueColumns(columns);
  const shown = codes ? namedColumns(all, [...new Set(codes)]) : all;
  const hidden = all.filter((column) => !shown.includes(column));
  return [
    ...shown.map((column) => ({ column, isShown: true })),
    ...hidden.map((column) => ({ column, isShown: false })),
  ];
}

/** What shows these columns. @param columns of the layer */
export function shownBy(rows: readonly PopupColumn[], columns: readonly PlacedColumn[]): Popup["columns"] {
  const codes = rows.filter(({ isShown }) => isShown).map(({ column }) => column.code);
  const all = valueColumns(columns).map(({ code }) => code);
  return JSON.stringify(codes) === JSON.stringify(all) ? undefined : codes;
}

const titleTypes: ReadonlySet<string> = new Set(["string", "text", "number", "datetime"]);

/** Columns whose values can be titles. */
export const titleColumns = <Column extends PlacedColumn>(columns: readonly Column[]): Column[] =>
  valueColumns(columns).filter(({ type }) => titleTypes.has(type));
