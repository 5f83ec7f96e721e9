import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import t from "tap";
import { openApi } from "../../src/api/request/openapi.js";
import { apiRoutes } from "../../src/api/routes.js";
import { buildProgram, runProgram } from "../../src/commands/program.js";
import { loadConfig } from "../../src/config.js";
import { exportFormats } from "../../src/export/export-formats.js";
import { tileFileFormats } from "../../src/hosts/export-messages.js";
import { type ImportFormat, importFormats, rasterFormats } from "../../src/hosts/import-messages.js";
import { sampleOf } from "../support/import-samples.js";
import { geoTiff } from "../support/rasters.js";
import { startServer } from "../support/server.js";

/** The formats that people are told of are those that work. */

const server = await startServer();
t.teardown(() => server.stop());
const token = await server.token("admin");
await server.api("POST", "", { token, body: { code: "m" } });

const project = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const config = loadConfig({ environment: {}, flags: {} });
const rasterExtensions: readonly string[] = Object.values(rasterFormats).flat();
const extensions: readonly string[] = [...Object.values(importFormats).flat(), ...rasterExtensions];

const rasterSample = geoTiff({ width: 2, height: 2, value: () => [1] });

/** Formats by all names that people give them, and that mean nothing else. */
const formatNames =
  /\b(shp|shapefiles?|mif|mapinfo|fgb|flatgeobuf|parquet|geojson|geojsonl|geojsons|ndjson|kml|kmz|xlsx?|excel|dxf|csv|sxf|geotiff?|tiff?|gpkg|geopackage|gml|gpx|rasters?|mbtiles|pmtiles)\b/gi;

/** What every command says of itself, by its name. */
async function helpTexts(): Promise<Record<string, string>> {
  const build = async () => {
    const env = { stdin: Readable.from([]), stdout: new PassThrough(), stderr: new PassThrough() };
    return { env, program: await buildProgram(env) };
  };
  const namesOf = (command: Command, above: readonly string[]): string[][] =>
    command.commands.flatMap((child) => {
      const names = [...above, child.name()];
      return [names, ...namesOf(child, names)];
    });
  const texts: Record<string, string> = {};
  for (const names of [[], ...namesOf((await build()).program, [])]) {
    const { env, program } = await build();
    await runProgram(program, env, [...names, "--help"]);
    texts[`mapwright ${names.join(" ")}`] = String(env.stdout.read());
  }
  return texts;
}

const help = await helpTexts();
const told: Readonly<Record<string, string>> = {
  ...help,
  "the page of formats": readFileSync(join(project, "dist/src/docs/reference/formats.md"), "utf8"),
  "the viewer": readFileSync(join(project, "src/viewer/browser/texts/english.ts"), "utf8"),
  "/openapi.json": JSON.stringify(openApi(apiRoutes, { server: "https://maps.example.org", config })),
};

t.test("no format is named to people that neither import nor export have", async (t) => {
  const formats = { ...importFormats, ...rasterFormats };
  const names = ["raster", ...Object.keys(formats)].flatMap((name) => name.toLowerCase().split(/[ /]/));
  // The program whose formats are mif and tab, and that of xls and xlsx.
  const programs = ["mapinfo", "excel"];
  const working = new Set<string>([
    ...extensions,
    ...exportFormats,
    ...tileFileFormats,
    ...names,
    ...programs,
  ]);
  t.ok(Object.keys(help).length > 20, "all commands have been found");
  for (const [place, text] of Object.entries(told)) {
    // An answer's type may be any of the contract's.
    const named = [...text.replace(/"enum":\["layer","virtual"[^\]]*\]/g, "").matchAll(formatNames)];
    t.same(
      [...new Set(named.map(([name]) => name.toLowerCase()))].filter((name) => !working.has(name)),
      [],
      place,
    );
  }
});

t.test("every format that there is is named wherever formats are", async (t) => {
  for (const place of ["mapwright import", "the page of formats", "/openapi.json"])
    for (const extension of extensions) t.match(told[place], `.${extension}`, place);
  for (const place of ["mapwright export", "the page of formats"])
    for (const format of [...exportFormats, ...tileFileFormats]) t.match(told[place], format, place);
  const document = JSON.parse(told["/openapi.json"]!);
  const { get, post } = document.paths["/api/2.8/{project}/{map}/layers/{layer}/export/"];
  const [inQuery] = get.parameters.filter((parameter: { name: string }) => parameter.name === "format");
  t.same(inQuery.schema.enum, exportFormats);
  const [ofTiles] = document.paths["/api/2.8/{project}/{map}/export/"].get.parameters.filter(
    (parameter: { name: string }) => parameter.name === "format",
  );
  t.same(ofTiles.schema.enum, tileFileFormats);
  for (const { schema } of Object.values<any>(post.requestBody.content))
    t.same(schema.properties.format.enum, exportFormats);
});

t.test("files of every format named are imported, and layers and maps exported", async (t) => {
  for (const [format, all] of Object.entries(importFormats)) {
    for (const extension of all) {
      await server.api("POST", "m/layers/", { token, body: { code: extension } });
      const form = new FormData();
      for (const [name, bytes] of Object.entries(sampleOf(format as ImportFormat, extension)))
        form.append("file", new Blob([bytes as never]), name);
      const answer = await fetch(`${server.url}/api/2.8/p/m/layers/${extension}/import/`, {
        method: "POST",
        headers: { "x-token": token },
        body: form,
      });
      t.equal(answer.status, 200, extension);
      t.equal((await server.api("GET", `m/layers/${extension}/count/?precise=1`)).json, 1, extension);
    }
  }
  for (const extension of rasterExtensions) {
    await server.api("POST", "m/layers/", { token, body: { code: extension } });
    const path = `m/layers/${extension}/import/?raster_bbox=BOX(1%202,3%204)`;
    const answer = await fetch(`${server.url}/api/2.8/p/${path}`, {
      method: "POST",
      headers: { "x-token": token, "x-filename": `x.${extension}` },
      body: rasterSample as never,
    });
    t.equal(answer.status, 200, extension);
    t.equal((await server.api("GET", `m/layers/${extension}/`)).json.type, "raster", extension);
  }
  for (const format of exportFormats) {
    const answer = await fetch(
      `${server.url}/api/2.8/p/m/layers/${format === "geotif" ? "tif" : "geojson"}/export/?format=${format}`,
    );
    t.equal(answer.status, 200, format);
    t.ok((await answer.arrayBuffer()).byteLength > 0, format);
  }
  for (const format of tileFileFormats) {
    const answer = await fetch(`${server.url}/api/2.8/p/m/export/?format=${format}&maxzoom=1`);
    t.equal(answer.status, 200, format);
    t.ok((await answer.arrayBuffer()).byteLength > 0, format);
  }
});
