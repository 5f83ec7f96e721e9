import { LRUCache } from "lru-cache";
import { hasObjects } from "../catalog/state.js";
import type { ChangeLog } from "../changes/change-log.js";
import type { LayerVersion } from "../changes/layer-version.js";
import type { ContractBox, GeoEnvelope } from "../geo/envelope.js";
import type { Database } from "../storage/postgres.js";
import { type BoxedLayer, contractBox, layersBoxes } from "./bbox.js";
import type { Srid } from "./geometry-sql.js";

/** The database takes about a millisecond for each layer, and trees have up to 10,000. */

/** Layers whose boxes are kept; some 300 bytes each. */
const mostKept = 50_000;

interface KeptBox {
  readonly layer: LayerVersion;
  /** Of the layer before the box was read, so that it may be newer. */
  readonly version: number;
  readonly box: GeoEnvelope | null;
}

/** Exact bounding boxes of layers, kept until their objects change. */
export class LayerBoxes {
  private readonly kept = new LRUCache<number, KeptBox>({ max: mostKept });

  constructor(
    private readonly db: Database,
    private readonly changes: Pick<ChangeLog, "trusted" | "track" | "refresh">,
  ) {}

  /** The box of a layer's objects, or image; null when no object has a geometry, and of an external service. */
  async ofLayer(layer: BoxedLayer, srid: Srid): Promise<ContractBox | null> {
    return (await this.of([layer], srid)).get(layer.id) ?? null;
  }

  /** As `ofLayer`, by layer id. @throws Failure busy when the database is away, and boxes may have changed */
  async of(layers: readonly BoxedLayer[], srid: Srid): Promise<Map<number, ContractBox | null>> {
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
    for (const [id, box] of await layersBoxes(this.db, read)) {
      this.kept.set(id, { ...missing.get(id)!, box });
      boxes.set(id, box);
    }
    return new Map([...boxes].map(([id, box]) => [id, box && contractBox(box, srid)]));
  }
}
