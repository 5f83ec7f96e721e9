/** Dates and times as fields of a form have them. Does not depend on the DOM. */

export interface Moment {
  /** YYYY-MM-DD */
  readonly date: string;
  /** HH:MM:SS in the zone of the reader; "" = a day, the same everywhere, which the server has as midnight in UTC. */
  readonly time: string;
}

const msOfDay = 86_400_000;
const two = (value: number): string => String(value).padStart(2, "0");

/** Undefined for what such fields cannot show. */
export function momentOf(value: string): Moment | undefined {
  const time = new Date(value);
  const year = time.getUTCFullYear();
  if (Number.isNaN(time.getTime()) || year < 1 || year > 9998) return undefined;
  const iso = time.toISOString();
  if (time.getTime() % msOfDay === 0) return { date: iso.slice(0, 10), time: "" };
  const date = `${String(time.getFullYear()).padStart(4, "0")}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return { date, time: `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}` };
}

/** As the server takes it; null = nothing. Undefined = a time without a day. */
export function momentValue({ date, time }: Moment): string | null | undefined {
  if (date === "") return time === "" ? null : undefined;
  if (time === "") return `${date}T00:00:00Z`;
  const moment = new Date(`${date}T${time}`);
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString().replace(".000Z", "Z");
}
