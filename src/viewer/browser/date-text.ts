/**
 * A value of dates for people, undefined where it is none. Dates without a time, as files mostly have them, are answered as
 * midnight in UTC: they are days, the same everywhere. With a time they are told in the zone of the reader.
 */
export function dateText(value: string, language: string): string | undefined {
  const time = new Date(value);
  if (Number.isNaN(time.getTime())) return undefined;
  const isDay = time.getTime() % msOfDay === 0;
  return new Intl.DateTimeFormat(language, {
    dateStyle: "medium",
    ...(isDay ? { timeZone: "UTC" } : { timeStyle: "short" }),
  }).format(time);
}

const msOfDay = 86_400_000;
