/** The formats of files that the server writes, from its own description. */

const names: Readonly<Record<string, string>> = {
  geojson: "GeoJSON",
  csv: "CSV",
  xlsx: "Excel (XLSX)",
  gpkg: "GeoPackage",
  shp: "Shapefile",
  kml: "KML",
  kmz: "KMZ",
  gml: "GML",
  gpx: "GPX",
  fgb: "FlatGeobuf",
  parquet: "GeoParquet",
  mif: "MapInfo MIF",
  tab: "MapInfo TAB",
};
/** Of images, and another name of xlsx. */
const leftOut: ReadonlySet<string> = new Set(["geotif", "xls"]);

export interface FileFormat {
  readonly code: string;
  readonly name: string;
}

let known: Promise<readonly FileFormat[]> | undefined;

/** The formats of files of objects, the best known first. Asked for once. */
export function fileFormats(): Promise<readonly FileFormat[]> {
  known ??= asked().catch(() => {
    known = undefined;
    return listed(Object.keys(names));
  });
  return known;
}

async function asked(): Promise<readonly FileFormat[]> {
  const answer = await fetch("openapi.json", { credentials: "omit" });
  if (!answer.ok) throw new Error(`${answer.status}`);
  const description = (await answer.json()) as Description;
  const operation = Object.values(description.paths)
    .map(({ get }) => get)
    .find((get) => get?.operationId === "exportLayer");
  const codes = operation?.parameters?.find(({ name }) => name === "format")?.schema?.enum;
  if (!codes) throw new Error("no formats");
  return listed(codes.filter((code) => !leftOut.has(code)));
}

interface Description {
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>;
}
interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly schema?: { readonly enum?: readonly string[] };
  }[];
}

function listed(codes: readonly string[]): readonly FileFormat[] {
  const order = Object.keys(names);
  const place = (code: string) => (order.includes(code) ? order.indexOf(code) : order.length);
  return [...codes]
    .sort((a, b) => place(a) - place(b))
    .map((code) => ({ code, name: names[code] ?? code.toUpperCase() }));
}
