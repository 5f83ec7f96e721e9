/** Where crowds edit and look: squares on a grid, each in tiles of its own. Degrees are those of EPSG:4326. */

const zoom = 8;
/** Between two squares, in degrees: tiles of two objects are not the same. */
const stride = 2;
const columns = 178;
/** Of each writer: an object in a larger one would not change its tile. */
const rows = 10;

export interface Place {
  readonly lon: number;
  readonly lat: number;
}

/** Where a writer's edit of that number goes. */
export const placeOfEdit = (writer: number, count: number): Place => ({
  lon: -179 + stride * (count % columns),
  lat: -80 + stride * (writer * rows + (Math.floor(count / columns) % rows)),
});

/** Where a viewer looks at that time. */
export function placeOfLook(viewer: number, count: number): Place {
  const at = (viewer * 7919 + count * 31) % 5_000;
  return { lon: -179 + stride * (at % columns), lat: -60 + stride * Math.floor(at / columns) };
}

/** Body of the object that is made there. @param edits how many were done: each is a little larger, so that it changes its tile */
export function objectAt({ lon, lat }: Place, name: string, edits: number): object {
  const size = 0.3 + (edits % 997) / 1_000;
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
  const x = Math.floor(((lon + 0.1 + 180) / 360) * side);
  const radians = ((lat + 0.1) * Math.PI) / 180;
  const y = Math.floor(((1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2) * side);
  return `/tms/p/m/?x=${x}&y=${side - 1 - y}&z=${zoom}&base=0`;
}
