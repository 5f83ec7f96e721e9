import type { ColumnType } from "../column-types/column-types.js";

/** Names of layers' tables and columns in PostgreSQL. They are made from ids, so they need no quoting. */

/** Name of a column in its layer's table, and in all SQL over objects, where no other identifier has this form. */
export const physicalName = (type: ColumnType, code: string, id: number): string =>
  type === "geom" ? "geom" : code === "svc_id" ? "svc_id" : `c${id}`;

/** Qualified name of a layer's table. */
export const layerTable = (layerId: number): string => `layers.l${Math.trunc(layerId)}`;
