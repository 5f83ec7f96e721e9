/** What a text is that is pasted or dropped. Does not depend on the DOM. */

/** The content of a file of that extension. */
export interface PastedData {
  readonly kind: "data";
  readonly extension: string;
  readonly text: string;
}
export type PastedText = { readonly kind: "link"; readonly url: string } | PastedData;

/** Lines at which a table is looked at. */
const lookedLines = 50;

/** @returns undefined = it is neither a link nor geodata nor a table */
export function pastedText(given: string): PastedText | undefined {
  const text = given.replace(/^\uFEFF/, "").trim();
  const data = (extension: string, content = text): PastedText => ({
    kind: "data",
    extension,
    text: content,
  });
  if (/^https?:\/\/\S+$/i.test(text)) return { kind: "link", url: text };
  if (text.startsWith("{")) {
    const geojson = geoJson(text);
    return geojson === undefined ? undefined : data("geojson", geojson);
  }
  if (text.startsWith("<")) {
    const root = /<([a-z]+)[\s>]/i.exec(text.slice(0, 4_000).replace(/<[?!][^>]*>/g, ""))?.[1]?.toLowerCase();
    return root === "kml" || root === "gpx" ? data(root) : undefined;
  }
  const separator = separatorOf(text);
  return separator === undefined ? undefined : data(separator === "\t" ? "tsv" : "csv");
}

/** GeoJSON that can be imported; of a geometry alone the feature. */
function geoJson(text: string): string | undefined {
  try {
    const parsed = JSON.parse(text) as { readonly type?: unknown; readonly coordinates?: unknown };
    if (parsed.type === "FeatureCollection" || parsed.type === "Feature") return text;
    const isGeometry = Array.isArray(parsed.coordinates) || parsed.type === "GeometryCollection";
    return isGeometry ? JSON.stringify({ type: "Feature", properties: {}, geometry: parsed }) : undefined;
  } catch {
    return undefined;
  }
}

/** What separates the columns of a table: the same number of times in most of its lines. */
function separatorOf(text: string): string | undefined {
  const lines = text.split(/\r\n|\r|\n/, lookedLines).filter((line) => line !== "");
  const [head = "", ...rows] = lines;
  if (rows.length === 0) return undefined;
  return ["\t", ";", ","].find((separator) => {
    const count = (line: string) => line.split(separator).length;
    const columns = count(head);
    const even = rows.filter((row) => count(row) === columns).length;
    return columns > 1 && even >= 0.8 * rows.length;
  });
}
