/** Kind of geometry of a layer; Unknown = any. */
export type GeometryKind = "Point" | "LineString" | "Polygon" | "Unknown";
