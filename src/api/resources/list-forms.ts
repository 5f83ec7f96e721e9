import type { LayerNode, MapState } from "../../catalog/state.js";
import { fileColumns } from "../../export/export-columns.js";
import { csvDialects, csvRows } from "../../export/write-csv.js";
import { objectFormatter } from "../../features/format.js";
import { shapedGeometry } from "../../features/geometry-sql.js";
import { type ListRequest, listedTexts, listStatement } from "../../features/list.js";
import type { ListText } from "../../features/read.js";
import type { Statement } from "../../features/sql.js";
import { preferred } from "../../http/accept.js";
import type { Services } from "../services.js";

/** The media types of lists of objects. */

const listTypes = [
  "application/json",
  "application/geo+json",
  "application/geo+json-seq",
  "text/csv",
] as const;
export type ListType = (typeof listTypes)[number];

interface Asked {
  /** The header Accept. */
  readonly accept: string | undefined;
  readonly format?: "json" | "geojson" | undefined;
  readonly f: "json" | "fjson";
}

/** The media type of a list. The parameter counts, else the header; values as texts are for JSON only. */
export function listType({ accept, format, f }: Asked): ListType {
  if (format === "geojson") return "application/geo+json";
  if (format === "json") return "application/json";
  const [json, ...others] = listTypes;
  return preferred(
    accept,
    f === "fjson" ? [json, ...others.filter((type) => type !== "text/csv")] : listTypes,
  );
}

/** A list of objects in a media type. */
export interface ListForm {
  readonly contentType: string;
  readonly text: ListText;
  readonly statement: (request: Omit<ListRequest, "form">) => Statement;
  readonly rewrite?: ((object: string) => string) | undefined;
  /** The id of an object, from its text; default: of JSON. */
  readonly idOf?: (text: string) => number;
}

interface Listed {
  readonly map: MapState;
  readonly layer: LayerNode;
  readonly request: Omit<ListRequest, "form">;
  /** Whether values are texts in the formats of their columns. */
  readonly isFormatted: boolean;
}

/** @throws Failure unknown_column */
export async function listForm(
  type: ListType,
  { db }: Pick<Services, "db">,
  { map, layer, request, isFormatted }: Listed,
): Promise<ListForm> {
  const format = isFormatted ? objectFormatter(layer.columns, request.languages) : undefined;
  switch (type) {
    case "application/json":
      return {
        contentType: "application/json; charset=utf-8",
        text: { opening: "[", closing: "]" },
        statement: (bounds) => listStatement(layer, { ...bounds, form: "items" }),
        rewrite: format,
      };
    case "application/geo+json":
      return {
        contentType: type,
        text: { opening: '{"type":"FeatureCollection","features":[', closing: "]}" },
        statement: (bounds) => listStatement(layer, { ...bounds, form: "features" }),
        rewrite: format,
      };
    case "application/geo+json-seq":
      return {
        contentType: type,
        text: { opening: "", closing: "", separator: "" },
        statement: (bounds) => listStatement(layer, { ...bounds, form: "sequence" }),
        // Between a record separator and a line feed (RFC 8142).
        rewrite: format && ((object) => `\x1e${format(object.slice(1, -1))}\n`),
      };
    case "text/csv": {
      const { fields, geom, languages } = request;
      const { columns } = await fileColumns(
        db,
        { map, layer },
        {
          fields: fields === "all" ? undefined : (fields ?? []),
          languages: [languages.own],
          srid: 4326,
          signal: new AbortController().signal,
        },
      );
      const { opening, ...row } = csvRows(columns, csvDialects.comma, geom && shapedGeometry(geom));
      return {
        contentType: "text/csv; charset=utf-8; header=present",
        text: { opening, closing: "", separator: "" },
        statement: (bounds) => listedTexts(layer, bounds, row),
        idOf: (text) => Number.parseInt(text, 10),
      };
    }
  }
}
