/** Dates of workbooks: days since 1900 or 1904 that a format shows as a date or a time. */

export type DateFormat = "date" | "time";

/** Formats that workbooks use by number without describing them. */
export function builtInDateFormat(id: number): DateFormat | undefined {
  if ((id >= 14 && id <= 17) || id === 22 || (id >= 27 && id <= 31) || id === 36) return "date";
  if (id >= 50 && id <= 58) return "date";
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || (id >= 45 && id <= 47)) return "time";
  return undefined;
}

/** Whether a format such as `dd.mm.yyyy hh:mm` shows dates; undefined for those of numbers and texts. */
export function dateFormatOf(code: string): DateFormat | undefined {
  const [positive = ""] = code
    .replace(/"[^"]*"|\\.|_.|\*./g, "")
    .replace(/\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, "")
    .split(";");
  if (/general/i.test(positive)) return undefined;
  if (/[yd]/i.test(positive)) return "date";
  if (/[hs]/i.test(positive)) return "time";
  return /m/i.test(positive) ? "date" : undefined;
}

const dayMs = 86_400_000;
/** Workbooks count 29 February 1900, which never was. */
const firstRealDay = 60;
const days1904 = 1462;

/**
 * The date as ISO 8601 without a time zone, or the time as `hh:mm:ss`; undefined for numbers that are none. Programs write 15
 * digits, so that times near a whole millisecond are meant to be that, and others have microseconds.
 */
export function dateText(serial: number, format: DateFormat, is1904: boolean): string | undefined {
  if (serial < 0 || serial > 2_958_466) return undefined;
  if (format === "time" && serial < 1) return timeText(wholeMicroseconds(serial));
  let days = Math.floor(serial);
  let micros = wholeMicroseconds(serial - days);
  if (micros === dayMs * 1000) {
    days++;
    micros = 0;
  }
  if (is1904) days += days1904;
  else if (days < firstRealDay) days++;
  const date = new Date(Date.UTC(1899, 11, 30) + days * dayMs).toISOString().slice(0, 10);
  return micros === 0 ? date : `${date}T${timeText(micros)}`;
}

function wholeMicroseconds(fraction: number): number {
  const micros = fraction * dayMs * 1000;
  const millis = Math.round(micros / 1000) * 1000;
  return Math.abs(micros - millis) <= 10 ? millis : Math.round(micros);
}

function timeText(micros: number): string {
  const seconds = Math.floor(micros / 1e6);
  const rest = micros - seconds * 1e6;
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return rest === 0 ? time : `${time}.${String(rest).padStart(6, "0").replace(/0+$/, "")}`;
}
