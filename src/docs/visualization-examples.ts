/** A visualization of each kind, on one small table: the page shows them, a script makes their pictures. */

export const exampleTable = `lon,lat,town,kind,people,young,middle,old,y2000,y2010,y2020,wind,speed
7.59,47.56,Basel,port,177595,32000,99000,46595,166,163,173,20,4
7.45,46.95,Bern,capital,134794,23000,76000,35794,122,124,134,70,6
6.63,46.52,Lausanne,lake,140202,27000,84000,29202,114,127,139,120,3
6.14,46.20,Geneva,lake,203856,38000,118000,47856,173,188,203,60,9
8.54,47.37,Zurich,lake,421878,70000,262000,89878,337,372,421,45,7
8.31,47.05,Lucerne,lake,82620,13000,49000,20620,57,77,81,150,5
9.37,47.42,St. Gallen,inland,76213,13000,46000,17213,69,72,75,200,8
8.95,46.00,Lugano,lake,62315,9000,36000,17315,26,54,62,300,2
7.36,46.23,Sion,inland,34978,6500,20500,7978,27,30,34,240,10
9.53,46.85,Chur,inland,37106,5600,22500,9006,31,33,37,190,6
8.24,46.90,Sarnen,lake,10491,1900,6200,2391,9,10,10,100,3
9.84,46.50,St. Moritz,inland,4945,700,3000,1245,5,5,5,30,11
`;

export interface VisualizationExample {
  /** Of its picture, and the map that shows it. */
  readonly name: string;
  readonly title: string;
  /** When to take it, one or two sentences. */
  readonly about: string;
  /** The body of `PUT …/visualization/`, as it is sent. */
  readonly settings: object;
}

const visual = (type: number, rest: object) => ({ visualSettings: { type, ...rest } });
const ages = [
  { code: "young", color: "#7fc97f" },
  { code: "middle", color: "#386cb0" },
  { code: "old", color: "#beaed4" },
];
const years = [
  { code: "y2000", color: "#9ecae1" },
  { code: "y2010", color: "#4292c6" },
  { code: "y2020", color: "#084594" },
];

export const visualizationExamples: readonly VisualizationExample[] = [
  {
    name: "thematic",
    title: "Thematic map (type 1)",
    about:
      "Colours by value, from light to dark. For shares and densities of areas; of counts take bubbles. `algorithm` says where classes end: 1 equal intervals, 2 quantiles (as many objects in each class), 3 natural breaks (where values lie apart); without it the server takes the one that suits the values.",
    settings: visual(1, {
      columnCode: "people",
      algorithm: 2,
      classesCount: 4,
      legendName: "People",
      pointSettings: { size: 22, sizeEnabled: true },
      classesSettings: { minColor: "#fed976", midColor: "#fd8d3c", maxColor: "#800026" },
    }),
  },
  {
    name: "categories",
    title: "Categories (type 2)",
    about:
      "A colour for each value. `defaultClass` is how all other objects look. Without `classes` the six commonest values have one.",
    settings: visual(2, {
      columnCode: "kind",
      legendName: "Kind of town",
      pointSettings: { size: 18, sizeEnabled: true },
      classesSettings: {
        classes: [
          { value: "lake", color: "#1f78b4" },
          { value: "capital", color: "#e31a1c" },
          { value: "port", color: "#ff7f00" },
        ],
        defaultClass: { color: "#b0b0b0" },
      },
    }),
  },
  {
    name: "bubbles",
    title: "Bubbles (type 3)",
    about:
      "A circle for each object, whose area is in proportion to its value. For counts: people, money, visits.",
    settings: visual(3, {
      columnCode: "people",
      legendName: "People",
      classesSettings: { pointSizeMin: 8, pointSizeMax: 56, color: "#2a6fbb", opacity: 0.75 },
    }),
  },
  {
    name: "pies",
    title: "Pies (type 4)",
    about:
      "Shares of a whole, a sector for each column. `sizeType` says how large a pie is: 1 all alike (`sizeValue`), 2 by the sum of its values, 3 by the column `sizeColumnCode`; 2 and 3 lie between `sizeFrom` and `sizeTo`.",
    settings: visual(4, {
      columnCode: "people",
      legendName: "Ages",
      classesSettings: { columns: ages, sizeType: 2, sizeFrom: 24, sizeTo: 64, allowOverlap: true },
    }),
  },
  {
    name: "bars",
    title: "Bars (type 5)",
    about: "A bar for each column, to compare them in one place. `sizeType` is as that of pies.",
    settings: visual(5, {
      columnCode: "people",
      legendName: "Ages",
      classesSettings: { columns: ages, sizeType: 1, sizeValue: 96, allowOverlap: true },
    }),
  },
  {
    name: "lines",
    title: "Lines (type 6)",
    about: "A small chart of columns that follow each other, as years do.",
    settings: visual(6, {
      columnCode: "y2020",
      legendName: "People, in thousands",
      classesSettings: { columns: years, sizeType: 1, sizeValue: 60, showScale: true, allowOverlap: true },
    }),
  },
  {
    name: "heat",
    title: "Heat map (type 7)",
    about:
      "Where objects crowd. `markerSize` is how far an object reaches, in pixels; `markerOpacity` how much it adds. With `useWeight` the column `useWeightField` says how much each counts.",
    settings: visual(7, {
      columnCode: "people",
      legendName: "Towns",
      classesSettings: { markerSize: 72, markerOpacity: 0.9 },
    }),
  },
  {
    name: "clusters",
    title: "Clusters (type 8)",
    about:
      "For many points: those that lie close together are one circle with their number, which parts when one zooms in. `radius` is how close, in pixels.",
    settings: visual(8, {
      legendName: "Towns",
      classesSettings: { radius: 80 },
    }),
  },
];
