import type { LayerNode, MapState } from "../catalog/state.js";
import type { GeoEnvelope } from "../geo/envelope.js";

/** What is exported, whatever the format. */

export interface ExportTarget {
  readonly map: MapState;
  /** A layer of objects. */
  readonly layer: LayerNode;
}

/** What goes into the file. */
export interface ExportRequest {
  /** These objects only; undefined = all. */
  readonly ids?: readonly number[] | undefined;
  /** Objects whose geometry meets this box. */
  readonly envelope?: GeoEnvelope | undefined;
  readonly srid: 4326 | 3857;
  /** Languages of localised columns; undefined = all. */
  readonly languages?: readonly [string, ...string[]] | undefined;
  readonly signal: AbortSignal;
  /** Told of objects as they are read. */
  readonly onObjects?: ((count: number) => void) | undefined;
}
