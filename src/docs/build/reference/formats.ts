import { exportFormats, formatOf } from "../../../export/export-formats.js";
import { tileFileFormats } from "../../../hosts/export-messages.js";
import { importFormats, rasterFormats, sidecarExtensions } from "../../../hosts/import-messages.js";

/** The page of the formats: names from the program, what each cannot hold from here. */

/** What is lost or changed on the way out. */
const losses: Readonly<Record<string, string>> = {
  geojson: "Nothing is lost.",
  csv: "Geometry is well-known text (WKT). Nothing says which column has numbers, dates or texts. Letters that `encoding` lacks become `?`.",
  xls: "The same as `xlsx`: an Excel workbook of today.",
  xlsx: "Geometry is WKT, dates are texts. A cell holds 32,767 characters: longer texts are cut, longer geometries left out. Beyond 1,048,575 objects there is another sheet.",
  kml: "Dates and JSON are texts. Degrees only.",
  kmz: "As `kml`, compressed.",
  gml: "JSON is text. Characters of column names that XML does not allow are replaced.",
  gpx: "Points become waypoints, lines tracks. Areas, collections and objects without geometry are left out. Degrees only.",
  shp: "Names of columns have 10 bytes, texts 254. Times, true, false and JSON are texts, and so are numbers that it would round. One kind of geometry in a file, so that a layer may become several. An empty text becomes no value. Heights are as in `fgb`.",
  mif: "Letters of Windows-1251 only, others become `?`. Names of columns have 31 characters, texts 254. Times, true, false and JSON are texts. No heights. A missing value becomes an empty text or 0.",
  tab: "As `mif`, and coordinates are rounded to small steps. An object of several points or kinds of geometry becomes several rows, which an import joins again.",
  gpkg: "JSON is text, and so are times finer than a millisecond. Heights are as in `fgb`.",
  fgb: "If some objects have heights, the others get the height 0. An empty MultiLineString is written as no geometry.",
  parquet: "Times before the year 0 are left out.",
  geotif: "For raster layers only: the file as it was uploaded, or with `orig=false` the processed image.",
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

<!-- words: file types, shapefile, geojson, csv, excel, xlsx, kml, geopackage, mbtiles, pmtiles, dxf, tab, geotiff, parquet, what is lost in an export, shapefile field names cut -->

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

No format takes attached files along: a column of files has their ids. A column with translations becomes one column for each
language.

| format | file | what it cannot hold |
|---|---|---|
${written.join("\n")}

### Tiles of a map

[Offline tiles](../how-to/offline-tiles.md): ${tileFileFormats.map((name) => `\`${name}\``).join(", ")}.
`;
}
