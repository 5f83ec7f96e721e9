import { isGeometryType } from "../../../src/geo/wkb.js";
import { Byte, eachMember, nameAt, parseAt } from "../json.js";
import { badFeature } from "../refusal.js";
import type { RowEncoder } from "../rows.js";
import type { Span } from "../window.js";

type Place = readonly [start: number, end: number];

/**
 * Writes the GeoJSON feature, or the bare geometry, in the span to a row. A feature's `id` becomes a property, unless there
 * is a property `id` or `svc_id` has the same value.
 * @throws BadFeature
 */
export function writeFeature(row: RowEncoder, { bytes, start, end }: Span): void {
  let type: unknown;
  let geometry: Place | undefined;
  let properties: Place | undefined;
  let id: Place | undefined;
  eachMember(bytes, start, end, (key, valueStart, valueEnd) => {
    if (key === "type")
      type = (bytes[valueStart] === Byte.quote ? nameAt : parseAt)(bytes, valueStart, valueEnd);
    else if (key === "geometry") geometry = [valueStart, valueEnd];
    else if (key === "properties") properties = [valueStart, valueEnd];
    else if (key === "id") id = [valueStart, valueEnd];
    else if (key !== "coordinates" && key !== "geometries") parseAt(bytes, valueStart, valueEnd);
  });
  if (type !== "Feature") {
    if (!isGeometryType(type)) throw badFeature("it is neither a GeoJSON feature nor a geometry");
    row.jsonGeometry(bytes, start, end);
    return;
  }
  if (geometry) {
    if (isNull(bytes, geometry)) row.noGeometry();
    else row.jsonGeometry(bytes, geometry[0], geometry[1]);
  }
  if (properties && !isNull(bytes, properties)) {
    if (bytes[properties[0]] !== Byte.openObject) throw badFeature('"properties" is not an object');
    eachMember(bytes, properties[0], properties[1], (key, valueStart, valueEnd) => {
      row.jsonProperty(key, bytes, valueStart, valueEnd);
    });
  }
  if (id && !row.has("id") && row.textOf("svc_id") !== bytes.toString("utf8", id[0], id[1]))
    row.jsonProperty("id", bytes, id[0], id[1]);
}

const isNull = (bytes: Buffer, [start, end]: Place): boolean =>
  end - start === 4 && bytes.toString("latin1", start, end) === "null";
