const pattern =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:\s?(Z|z|[+-]\d{2}(?::?\d{2})?))?)?$/;

/**
 * Reads an ISO 8601 date, or date and time, and converts it to UTC without trailing zeros, truncated to microseconds:
 * `2024-05-01T14:00:00+02:00` → `2024-05-01T12:00:00Z`. The default time zone is UTC. undefined for invalid text, and
 * outside the years 1 to 9999.
 */
export function readDatetime(text: string): string | undefined {
  const match = pattern.exec(text.trim());
  if (!match) return undefined;
  const [, year, month, day, hour = "0", minute = "0", second = "0", fraction = "", zone = "Z"] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  // Date moves a day that the month does not have to the next month.
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  const offset = offsetMinutes(zone);
  if (offset === undefined) return undefined;
  date.setUTCHours(Number(hour), Number(minute) - offset, Number(second));
  const utcYear = date.getUTCFullYear();
  if (utcYear < 1 || utcYear > 9999) return undefined;
  const digits = fraction.slice(0, 6).replace(/0+$/, "");
  return `${date.toISOString().slice(0, 19)}${digits && `.${digits}`}Z`;
}

/** Minutes east of UTC. */
function offsetMinutes(zone: string): number | undefined {
  if (zone === "Z" || zone === "z") return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(":", "") || "0");
  if (hours > 15 || minutes > 59) return undefined;
  return (zone[0] === "-" ? -1 : 1) * (hours * 60 + minutes);
}
