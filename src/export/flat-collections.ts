/** SQL of whether a geometry is a collection that st_dump flattens: one with multi geometries or collections in it. */
export const hasMultiMembers = (geom: string): string =>
  `st_geometrytype(${geom})='ST_GeometryCollection' and exists(select from generate_series(1,st_numgeometries(${geom})) i ` +
  `where st_geometrytype(st_geometryn(${geom},i)) ~ '^ST_(Multi|GeometryCollection)')`;
