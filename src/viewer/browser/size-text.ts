const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

/** A number of bytes, in words of the language. */
export function sizeText(bytes: number, language: string): string {
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const format = new Intl.NumberFormat(language, {
    style: "unit",
    unit: units[step]!,
    unitDisplay: "short",
    maximumSignificantDigits: 3,
  });
  return format.format(bytes / 1_000 ** step);
}
