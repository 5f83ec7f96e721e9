import type { ColumnType } from "../column-types/column-types.js";

/** Names of layers' tables and their columns, which are made from ids and so need no quotes. */

/** Name of a column in its layer's table. SQL over objects knows columns by it; nothing else has such a name there. */
export const physicalName = (type: ColumnType, code: string, id: number): string =>
  type === "geom" ? "geom" : code === "svc_id" ? "svc_id" : `c${id}`;

/** Name of a layer's table, quoted by construction: schema and digits only. */
export const layerTable = (layerId: number): string => `layers.l${Math.trunc(layerId)}`;
