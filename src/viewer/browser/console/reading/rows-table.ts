import { h } from "../../dom.js";
import type { TextKey, Translate } from "../../texts.js";
import { geometryWord } from "../geometry-word.js";
import type { Preview } from "./look.js";

/** The first rows of a file, below the names of its columns and what they are taken for. */

const types: Readonly<Record<string, TextKey>> = {
  number: "typeNumber",
  string: "typeText",
  text: "typeText",
  datetime: "typeTime",
  bool: "typeBool",
};

/** Columns that are shown; a file may have a thousand. */
const mostColumns = 50;

export function rowsTable(t: Translate, { columns: all, features }: Preview): HTMLElement {
  const columns = all.slice(0, mostColumns);
  const hasPlaces = features.some(({ geom }) => geom !== null);
  const typeOf = (type: string) => (types[type] ? t(types[type]) : type);
  return h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...columns.map(({ name, type }) =>
          h("th", { scope: "col" }, h("span", { dir: "auto" }, name), h("small", {}, typeOf(type))),
        ),
        hasPlaces && h("th", { scope: "col" }, h("span", {}, t("readingPlace"))),
      ),
    ),
    h(
      "tbody",
      {},
      ...features.map(({ fields, geom }) =>
        h(
          "tr",
          {},
          ...columns.map(({ code }) => h("td", { dir: "auto" }, fields[code] ?? "")),
          hasPlaces && h("td", {}, placeOf(t, geom)),
        ),
      ),
    ),
  );
}

/** Latitude and longitude of a point; of others their kind, too, and where they begin. */
function placeOf(t: Translate, geom: unknown): string {
  const { type, coordinates } = (geom ?? {}) as { readonly type?: string; readonly coordinates?: unknown };
  if (type === undefined) return "";
  let first = coordinates;
  while (Array.isArray(first) && Array.isArray(first[0])) [first] = first;
  const [lon, lat] = Array.isArray(first) ? first : [];
  const place = typeof lon === "number" && typeof lat === "number" ? `${shown(lat)}, ${shown(lon)}` : "";
  return type === "Point" ? place : [t(geometryWord(type)), place].filter(Boolean).join(" · ");
}

const shown = (degrees: number): string => degrees.toFixed(5);
