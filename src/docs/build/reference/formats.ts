import { exportFormats, formatOf } from "../../../export/export-formats.js";
import { tileFileFormats } from "../../../hosts/export-messages.js";
import { importFormats, rasterFormats, sidecarExtensions } from "../../../hosts/import-messages.js";

/** The page of the formats: names from the program, what each cannot hold from here. */

/** What is lost or changed on the way out. */
const losses: Readonly<Record<string, string>> = {
  geojson: "Nothing.",
  csv: "Geometry is a column of well-known text. Types are not written: numbers, dates and texts are texts.",
  xls: "As xlsx: the name is the contract's, the file is an Excel workbook of today.",
  xlsx: "Geometry is a column of well-known text. A sheet holds 1,048,575 objects, a cell 32,767 characters.",
  kml: "Longitude and latitude only. Values are texts in the popup's data.",
  kmz: "As kml, compressed.",
  gml: "Names of columns become names of elements.",
  gpx: "Points become waypoints, lines tracks; polygons cannot be written. Longitude and latitude only.",
  shp: "Names of columns have 10 characters, texts 254 bytes. One kind of geometry a file, so that a layer may become several. No time of day.",
  mif: "Names of columns have 31 characters, texts 254 bytes.",
  tab: "As mif, and coordinates are rounded to small steps. A multipoint or collection becomes several rows, which an import joins again.",
  gpkg: "Nothing that QGIS would miss: localised values are one column a language.",
  fgb: "An empty MultiLineString is written as no geometry.",
  parquet: "Nothing; the geometry is GeoParquet.",
  geotif: "Raster layers only: the file as it was uploaded, or with `orig=false` the processed image.",
};

const extensionsOf = (extensions: readonly string[]) => extensions.map((one) => `\`.${one}\``).join(", ");

/** @throws Error naming formats of which nothing is told */
export function formatsPage(): string {
  const untold = exportFormats.filter((name) => !(name in losses));
  if (untold.length > 0) throw new Error(`Formats without a word on what they lose: ${untold.join(", ")}`);
  const read = Object.entries(importFormats).map(([name, extensions]) => {
    const beside = sidecarExtensions[extensions[0]!];
    return `| ${name} | ${extensionsOf(extensions)} | ${beside ? extensionsOf(beside) : ""} |`;
  });
  const images = Object.entries(rasterFormats).map(
    ([name, extensions]) => `| ${name} | ${extensionsOf(extensions)} | world file, \`.prj\` |`,
  );
  const written = exportFormats.map((name) => {
    const { extension, hasSeveralFiles } = formatOf(name);
    return `| \`${name}\` | \`.${extension}\`${hasSeveralFiles ? " in a zip" : ""} | ${losses[name]} |`;
  });
  return `# Formats

<!-- words: file types, shapefile, geojson, csv, excel, xlsx, kml, geopackage, mbtiles, pmtiles, dxf, tab, geotiff, parquet -->

Which files can be imported and exported, and what a format cannot hold.

## Import

[Import files](../how-to/import-files.md) tells how.

| format | extensions | files that belong to it |
|---|---|---|
${read.join("\n")}

A zip archive may hold any of these with the files that belong to them.

### Images

They become [raster layers](../how-to/raster-layers.md).

| format | extensions | files that belong to it |
|---|---|---|
${images.join("\n")}

## Export

[Export data](../how-to/export-data.md) tells how. What a format could not hold of your data is said by the header
\`X-Export-Notes\`, by the command, and in a zip archive by README.txt.

| format | file | what it cannot hold |
|---|---|---|
${written.join("\n")}

### Tiles of a map

[Offline tiles](../how-to/offline-tiles.md): ${tileFileFormats.map((name) => `\`${name}\``).join(", ")}.
`;
}
