/**
 * Memory that plain data take, roughly: counted without making a text of it, at some 20 ns a value. What it refers to
 * twice counts twice; maps count by their values.
 */
export function roughBytes(value: unknown): number {
  if (typeof value === "string") return 24 + 2 * value.length;
  if (typeof value !== "object" || value === null) return 8;
  let bytes = 32;
  if (Array.isArray(value)) {
    for (const item of value) bytes += 8 + roughBytes(item);
  } else if (value instanceof Map) {
    for (const item of value.values()) bytes += 48 + roughBytes(item);
  } else {
    for (const key in value) bytes += 8 + roughBytes((value as Record<string, unknown>)[key]);
  }
  return bytes;
}
