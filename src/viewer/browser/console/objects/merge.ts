/** What becomes of a change when somebody else has changed the same object. Does not depend on the DOM. */

export type Fields = Readonly<Record<string, unknown>>;

export interface Values {
  readonly fields: Fields;
  readonly geom: GeoJSON.Geometry | null;
}

/** What is changed; what is absent stays. */
export interface Change {
  readonly fields: Fields;
  readonly geom?: GeoJSON.Geometry | null;
}

/** Whether two JSON values are the same, in whatever order their members are. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if ((one ?? null) === null || (other ?? null) === null) return (one ?? null) === (other ?? null);
  if (typeof one !== "object" || typeof other !== "object" || Array.isArray(one) !== Array.isArray(other))
    return false;
  const [a, b] = [one as Fields, other as Fields];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isSame(a[key], b[key]));
}

/** An object as the server has it. */
export interface Loaded extends Values {
  readonly id: number;
  readonly etag: string | undefined;
}

/** Which of two changes shall be. */
export type Decision = "mine" | "theirs";

export interface Conflict {
  /** undefined = the geometry. */
  readonly code: string | undefined;
  readonly mine: unknown;
  readonly theirs: unknown;
}

export interface Merged {
  /** What is left to be changed of what they have made; what both have set alike is no change any more. */
  readonly change: Change;
  /** What both have changed, each in another way. */
  readonly conflicts: readonly Conflict[];
}

/** @param base what the change was made of */
export function merged(base: Values, mine: Change, theirs: Values): Merged {
  const conflicts: Conflict[] = [];
  const fields: Record<string, unknown> = {};
  for (const [code, value] of Object.entries(mine.fields)) {
    const now = theirs.fields[code];
    if (isSame(value, now)) continue;
    fields[code] = value;
    if (!isSame(base.fields[code], now)) conflicts.push({ code, mine: value, theirs: now });
  }
  if (mine.geom === undefined || isSame(mine.geom, theirs.geom)) return { change: { fields }, conflicts };
  if (!isSame(base.geom, theirs.geom))
    conflicts.push({ code: undefined, mine: mine.geom, theirs: theirs.geom });
  return { change: { fields, geom: mine.geom }, conflicts };
}

/** The change without what both have changed: theirs is taken. */
export function yielding({ change, conflicts }: Merged): Change {
  const lost = new Set(conflicts.map(({ code }) => code));
  const fields = Object.fromEntries(Object.entries(change.fields).filter(([code]) => !lost.has(code)));
  return change.geom === undefined || lost.has(undefined) ? { fields } : { fields, geom: change.geom };
}

type Based = Values & { readonly etag: string | undefined };

/**
 * A change on what others have made meanwhile. Of what both have changed the old value stays below it, and with it the old ETag:
 * the server refuses to save it before that is decided.
 */
export function rebased<Of extends { readonly base: Based | undefined; readonly change: Change }>(
  of: Of,
  { id, fields, geom, etag }: Based & { readonly id: number },
): { readonly draft: Of & { readonly id: number }; readonly conflicts: readonly Conflict[] } {
  const base = of.base ?? { fields, geom, etag };
  const { change, conflicts } = merged(base, of.change, { fields, geom });
  const open = new Set(conflicts.map(({ code }) => code));
  const old = Object.fromEntries(Object.entries(base.fields).filter(([code]) => open.has(code)));
  const below = {
    fields: { ...fields, ...old },
    geom: open.has(undefined) ? base.geom : geom,
    etag: conflicts.length > 0 ? base.etag : etag,
  };
  return { draft: { ...of, id, base: below, change }, conflicts };
}

/** What was changed after a change was sent that the server has now. @param base what both were made of */
export function changedSince(base: Values | undefined, sent: Change, now: Change): Change {
  const valueIn = ({ fields }: Change, code: string) =>
    Object.hasOwn(fields, code) ? fields[code] : base?.fields[code];
  const codes = new Set([...Object.keys(sent.fields), ...Object.keys(now.fields)]);
  const changed = [...codes].filter((code) => !isSame(valueIn(sent, code), valueIn(now, code)));
  const fields = Object.fromEntries(changed.map((code) => [code, valueIn(now, code) ?? null]));
  const geomOf = ({ geom }: Change) => (geom === undefined ? (base?.geom ?? null) : geom);
  return isSame(geomOf(sent), geomOf(now)) ? { fields } : { fields, geom: geomOf(now) };
}

export const isEmpty = ({ fields, geom }: Change): boolean =>
  Object.keys(fields).length === 0 && geom === undefined;

/** A change with another value; what is as before is no change. */
export function withField({ fields, ...rest }: Change, base: Fields, code: string, value: unknown): Change {
  const { [code]: _, ...others } = fields;
  return { ...rest, fields: isSame(base[code], value) ? others : { ...others, [code]: value } };
}

export function withGeometry(
  { fields }: Change,
  base: GeoJSON.Geometry | null | undefined,
  geom: GeoJSON.Geometry | null,
): Change {
  return isSame(base ?? null, geom) ? { fields } : { fields, geom };
}
