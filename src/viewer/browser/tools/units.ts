import type { Locale } from "../attributes.js";

/** Lengths and areas as text. */

const number = (language: string, value: number): string => {
  const decimals = value >= 1_000 ? 0 : value >= 100 ? 1 : value >= 1 ? 2 : 3;
  return new Intl.NumberFormat(language, { maximumFractionDigits: decimals }).format(value);
};

/** @param metres a length */
export function lengthText(metres: number, { language, units }: Locale): string {
  const [value, unit] = units.isImperial
    ? metres < 304.8
      ? ([metres / 0.3048, "foot"] as const)
      : ([metres / 1_609.344, "mile"] as const)
    : metres < 1_000
      ? ([metres, "meter"] as const)
      : ([metres / 1_000, "kilometer"] as const);
  const maximumFractionDigits = value >= 1_000 ? 0 : value >= 100 ? 1 : 2;
  return new Intl.NumberFormat(language, { style: "unit", unit, maximumFractionDigits }).format(value);
}

/** @param metres an area, in square metres */
export function areaText(metres: number, { language, t, units }: Locale): string {
  if (units.isImperial) {
    const [value, unit] =
      metres < 4_046.86
        ? [metres / 0.092_903_04, "ft²"]
        : metres < 2_589_988
          ? [metres / 4_046.856, "ac"]
          : [metres / 2_589_988.11, "mi²"];
    return `${number(language, value)} ${unit}`;
  }
  if (metres < 10_000) return `${number(language, metres)} ${t("squareMetres")}`;
  if (metres < 1_000_000) return `${number(language, metres / 10_000)} ${t("hectares")}`;
  return `${number(language, metres / 1_000_000)} ${t("squareKilometres")}`;
}
