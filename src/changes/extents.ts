import type { MercatorBox } from "../geo/tile.js";
import type { Queryable } from "../storage/postgres.js";
import type { LayerVersion } from "./layer-version.js";

/** Finds what contains all objects of a layer, by its spatial index, so that layers need not be drawn where they are not. */

interface Row {
  readonly id: number;
  readonly token: string;
  /** Null = no object has a place. */
  readonly box: MercatorBox | null;
}

/**
 * The root of a GiST index covers every object that any transaction has written, also those deleted since. A view, and a
 * layer without a table, has no row.
 */
const statement = `select id, token, case when box is null then null
    else json_build_array(st_xmin(box), st_ymin(box), st_xmax(box), st_ymax(box)) end as box
  from epoch, (select id, _postgis_index_extent(c.oid::regclass, 'geom_3857') as box
    from unnest($1::bigint[]) id join pg_class c on c.oid = to_regclass('layers.l' || id) and c.relkind = 'r'
    where exists (select from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attname = 'geom_3857'
      where i.indrelid = c.oid and i.indisvalid and i.indkey[0] = a.attnum)
    offset 0) extents`;

/** A layer's table may be locked for a while. */
const deadlineMs = 1_000;

export class LayerExtents {
  /** Layers whose extent is not known, by the version at which it was asked for last. */
  private readonly unknown = new WeakMap<LayerVersion, number>();
  private readonly reading = new Map<LayerVersion, Promise<void>>();

  constructor(
    private readonly db: Pick<Queryable, "query">,
    /** Token of the history that the layers' versions belong to. */
    private readonly epoch: () => string,
  ) {}

  /** Reads the extents of those layers whose extents are not known. What cannot be read stays unknown. */
  async find(layers: readonly LayerVersion[]): Promise<void> {
    const wanted = layers.filter(
      (layer) => layer.extent === undefined && this.unknown.get(layer) !== layer.version,
    );
    if (wanted.length === 0) return;
    const missing = [...new Set(wanted)].filter((layer) => !this.reading.has(layer));
    if (missing.length > 0) {
      const reading = this.read(missing).finally(() => {
        for (const layer of missing) this.reading.delete(layer);
      });
      for (const layer of missing) this.reading.set(layer, reading);
    }
    await Promise.all(new Set(wanted.map((layer) => this.reading.get(layer))));
  }

  private async read(layers: readonly LayerVersion[]): Promise<void> {
    const versions = layers.map(({ version }) => version);
    // Without it, all is drawn.
    const rows = await this.db
      .query<Row>(statement, [layers.map(({ id }) => id)], {
        prepare: true,
        signal: AbortSignal.timeout(deadlineMs),
      })
      .catch(() => undefined);
    if (!rows) return;
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const [index, layer] of layers.entries()) {
      const row = byId.get(layer.id);
      if (row?.token === this.epoch()) layer.setExtent(row.box, versions[index]!);
      if (layer.extent === undefined) this.unknown.set(layer, versions[index]!);
    }
  }
}
