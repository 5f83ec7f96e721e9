/** Numbers as texts for people. */

/** As the format of its column says; without one there is no separator below 10,000, so that years stay readable. */
export function numberText(
  value: number,
  format: Readonly<Record<string, unknown>>,
  language: string,
): string {
  const { decimals, grouping, prefix, suffix } = format;
  const digits =
    typeof decimals === "number"
      ? { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
      : { maximumFractionDigits: 6 };
  const useGrouping = typeof grouping === "boolean" ? grouping : "min2";
  const number = new Intl.NumberFormat(language, { ...digits, useGrouping }).format(value);
  return `${inLanguage(prefix, language)}${number}${inLanguage(suffix, language)}`;
}

/** A text that is one for all languages, or one for each; then that of the language, else the first. */
function inLanguage(text: unknown, language: string): string {
  if (typeof text === "string") return text;
  const texts = Object.entries(text ?? {});
  return String((texts.find(([code]) => code === language) ?? texts[0])?.[1] ?? "");
}
