import type { Column, Visual } from "./settings.js";

/** Settings of a visualization for another layer than the one that has them. Does not depend on the DOM. */

export interface SettingsForOther {
  /** undefined = the other layer lacks a column that they are made from. */
  readonly settings: Visual | undefined;
  /** Codes of columns that the other layer lacks. */
  readonly missing: readonly string[];
}

/** Members of `classesSettings` that name a column by its id alone. */
const byId = ["markerSizeField", "useWeightField"] as const;

type Plain = Readonly<Record<string, unknown>>;

/** @param own columns of the layer that has the settings @param other those of the other layer */
export function settingsForOther(
  { column: _, columnCode, classesSettings, textSettings, ...rest }: Visual,
  own: readonly Column[],
  other: readonly Column[],
): SettingsForOther {
  const known = new Map(other.map(({ code, id }) => [code, id]));
  const missing = new Set<string>();
  const code = (named: unknown): string | undefined => {
    if (typeof named !== "string") return undefined;
    if (!known.has(named)) missing.add(named);
    return named;
  };
  const classes: Record<string, unknown> = { ...classesSettings };
  for (const name of byId) {
    const column = own.find(({ id }) => id === classes[name]);
    if (column) classes[name] = known.get(code(column.code)!);
  }
  if (Array.isArray(classes.columns))
    classes.columns = (classes.columns as Plain[]).map(({ id: _id, ...each }) => ({
      ...each,
      ...(each.code !== undefined && { code: code(each.code) }),
    }));
  if (typeof classes.sizeColumnCode === "string") {
    delete classes.sizeColumn;
    code(classes.sizeColumnCode);
  }
  const built = code(columnCode);
  const lacksSource = missing.size > 0;
  const text = textSettings as Plain | undefined;
  const label = rest.showText === true ? code(text?.column) : undefined;
  const isLabelled = label !== undefined && known.has(label);
  return {
    settings: lacksSource
      ? undefined
      : {
          ...rest,
          ...(built !== undefined && { columnCode: built }),
          ...(classesSettings && { classesSettings: classes }),
          showText: isLabelled,
          ...(text && { textSettings: { ...text, column: isLabelled ? label : null } }),
        },
    missing: [...missing],
  };
}
