import type { ColumnInfo } from "../../map-server.js";
import type { Translate } from "../../texts.js";
import type { Constraint } from "./object-store.js";

/** Between which values those of a column lie. */
export function limitsOf(
  { code }: ColumnInfo,
  { constraints, t }: { readonly constraints: readonly Constraint[]; readonly t: Translate },
) {
  const range = constraints.find(({ type, columns }) => type === "range" && columns.includes(code));
  const [from, to] = (range?.definition ?? []) as readonly (number | string | null)[];
  const [hasFrom, hasTo] = [from ?? undefined, to ?? undefined].map((end) => end !== undefined);
  if (!hasFrom && !hasTo) return undefined;
  const key = hasFrom && hasTo ? "rangeBetween" : hasFrom ? "rangeFrom" : "rangeTo";
  const isBroken = (value: unknown) =>
    typeof value === "number" &&
    ((typeof from === "number" && value < from) || (typeof to === "number" && value > to));
  return { text: t(key, { from: String(from), to: String(to) }), isBroken };
}
