/** Where crowds edit and look: squares on a grid, each in tiles of its own. Degrees are those of EPSG:4326. */

const zoom = 10;
/** Between two squares, in degrees: more than a tile is wide, so that two are never on the same. */
const stride = 0.5;
const columns = 716;
/** Of each writer: an object in a larger one would not change its tile. */
const rows = 40;
/** Of an object, in degrees. */
const size = 0.1;
/** From its edge, in degrees, to a point that its tile shows for certain. */
const inside = 0.05;

export interface Place {
  readonly lon: number;
  readonly lat: number;
}

/** Where a writer's edit of that number goes: to each place once. @throws Error when there are no places left */
export function placeOfEdit(writer: number, count: number): Place {
  const row = Math.floor(count / columns);
  if (row >= rows)
    throw new Error("There are no places left: a second object at one would not change its tile.");
  return { lon: -179 + stride * (count % columns), lat: -80 + stride * (writer * rows + row) };
}

/** Where a viewer looks at that time. */
export function placeOfLook(viewer: number, count: number): Place {
  const at = (viewer * 7919 + count * 31) % 5_000;
  // Among the edits of all writers.
  return placeOfEdit(at % 8, Math.floor(at / 8));
}

/** Body of the object that is made there. */
export function objectAt({ lon, lat }: Place, name: string): object {
  const ring = [
    [lon, lat],
    [lon + size, lat],
    [lon + size, lat + size],
    [lon, lat + size],
    [lon, lat],
  ];
  return { fields: { name }, geom: { type: "Polygon", coordinates: [ring] } };
}

/** Address of the tile that shows the place. */
export function tileOf({ lon, lat }: Place): string {
  const side = 2 ** zoom;
  const x = Math.floor(((lon + inside + 180) / 360) * side);
  const radians = ((lat + inside) * Math.PI) / 180;
  const y = Math.floor(((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * side);
  return `/tms/p/m/?x=${x}&y=${side - 1 - y}&z=${zoom}&base=0`;
}
