import { LRUCache } from "lru-cache";
import { hasObjects } from "../catalog/state.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { LayerVersion } from "../changes/layer-version.js";
import type { ContractBox, GeoEnvelope } from "../geo/envelope.js";
import type { Queryable } from "../storage/postgres.js";
import { type BoxedLayer, contractBox, layersBoxes } from "./bbox.js";
import type { Srid } from "./geometry-sql.js";

/** Exact bounding boxes of layers. The database takes about a millisecond for each, and trees have up to 10,000. */

export interface Boxes {
  /**
   * Of the layers' objects, or images, by layer id; null when no object has a geometry, and of external services.
   * @param db of the request, which ends with it
   * @throws Failure busy when the database is away, and boxes may have changed
   */
  of(db: Queryable, layers: readonly BoxedLayer[], srid: Srid): Promise<Map<number, ContractBox | null>>;
}

export const boxOf = async (
  boxes: Boxes,
  db: Queryable,
  layer: BoxedLayer,
  srid: Srid,
): Promise<ContractBox | null> => (await boxes.of(db, [layer], srid)).get(layer.id) ?? null;

const inContract = (boxes: ReadonlyMap<number, GeoEnvelope | null>, srid: Srid) =>
  new Map([...boxes].map(([id, box]) => [id, box && contractBox(box, srid)]));

/** For transactions, which have changes of their own. */
export const unkeptBoxes: Boxes = {
  of: async (db, layers, srid) => inContract(await layersBoxes(db, layers), srid),
};

/** Layers whose boxes are kept; some 300 bytes each. */
const mostKept = 50_000;

interface KeptBox {
  readonly layer: LayerVersion;
  /** Of the layer before the box was read, so that it may be newer. */
  readonly version: number;
  readonly box: GeoEnvelope | null;
}

/** Keeps boxes until the objects change. */
export class KeptBoxes implements Boxes {
  private readonly kept = new LRUCache<number, KeptBox>({ max: mostKept });

  constructor(private readonly changes: Pick<ChangeLog, "trusted" | "track" | "refresh">) {}

  async of(
    db: Queryable,
    layers: readonly BoxedLayer[],
    srid: Srid,
  ): Promise<Map<number, ContractBox | null>> {
    const boxes = new Map(layers.map(({ id, raster }) => [id, raster?.box ?? null]));
    const ids = layers.filter(hasObjects).map(({ id }) => id);
    const tracked = await this.changes.track([...new Set(ids)]);
    if (!this.changes.trusted) await this.changes.refresh(tracked);
    const missing = new Map<number, Omit<KeptBox, "box">>();
    for (const layer of tracked) {
      const kept = this.kept.get(layer.id);
      if (kept?.layer === layer && kept.version === layer.version) boxes.set(layer.id, kept.box);
      else missing.set(layer.id, { layer, version: layer.version });
    }
    const read = layers.filter(({ id }) => missing.has(id));
    for (const [id, box] of await layersBoxes(db, read)) {
      this.kept.set(id, { ...missing.get(id)!, box });
      boxes.set(id, box);
    }
    return inContract(boxes, srid);
  }
}
