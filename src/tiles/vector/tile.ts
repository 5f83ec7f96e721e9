import { createHash } from "node:crypto";
import type { Clock } from "../../clock.js";
import { busy, causedBy, failed } from "../../errors.js";
import { tileBox } from "../../geo/tile.js";
import { reachesBeyond } from "../../geo/world-copies.js";
import { clientOwners } from "../../queues/clients.js";
import { FairSemaphore } from "../../queues/fair-semaphore.js";
import type { Database } from "../../storage/postgres.js";
import type { TileAnswers } from "../answers.js";
import type { BadLayers } from "../bad-layers.js";
import { shareOfRest, slowest } from "../blame.js";
import type { TileEncoding } from "../formats.js";
import { LayersMissing, type MissingLayer } from "../missing-layer.js";
import { bufferedBox, type MadeTile, type TileService, type TileWork } from "../tile-service.js";
import type { VectorAddress } from "./address.js";
import { Compressors } from "./compressor.js";
import type { VectorPlan } from "./planner.js";
import { boxValues, maxBytes, type VectorStatement } from "./statement.js";

/** Makes vector tiles: PostgreSQL writes them, here they are compressed. */

export interface VectorTilesOptions {
  readonly clock: Pick<Clock, "now">;
  readonly bad: Pick<BadLayers, "note">;
  readonly db: Pick<Database, "query">;
  /** Connections of the database that the vector tiles of a project may take at once; others find one more free. */
  readonly concurrency: number;
  /** Tiles that may wait for one. */
  readonly queueLength: number;
  /** Longest wait, and after that longest work of PostgreSQL on a tile but for its last statement. */
  readonly deadlineMs: number;
}

/** Tiles that fit into a packet of the network are not compressed. */
const packetBytes = 1_400;

/** Whether the bytes of a tile are compressed by gzip. MVT begins with the tag of its first layer. */
export const isCompressed = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b;

/** Deadlines after which a tile ends that waits for connections, and not for PostgreSQL. */
const mostDeadlines = 3;

/** SQLSTATE of a statement that took too long. */
const queryCanceled = "57014";

/** The way from addresses of vector tiles to answers. */
export type VectorTileService = TileService<VectorPlan, TileEncoding>;
export type VectorAnswers<Answer> = TileAnswers<Answer, VectorPlan, VectorAddress>;

type VectorWork = TileWork<VectorPlan, TileEncoding>;

interface LayerRow {
  readonly n: number;
  /** Null = it is too large. */
  readonly tile: Buffer | null;
  readonly ms: number;
}

/** A tile that has its turn, since when by the clock. */
interface Making {
  readonly begun: number;
  readonly signal: AbortSignal;
}

interface MadeLayer extends Pick<LayerRow, "tile"> {
  readonly layer: Pick<MissingLayer, "id" | "code">;
}

export class VectorTiles {
  private readonly semaphore: FairSemaphore;
  private readonly compressors = new Compressors();

  constructor(private readonly options: VectorTilesOptions) {
    const { concurrency, queueLength, deadlineMs } = options;
    this.semaphore = new FairSemaphore({
      permits: concurrency + 1,
      kept: 1,
      mostWaiting: queueLength,
      timeoutMs: deadlineMs,
      refusal: "Too many vector tiles are being made now.",
    });
  }

  /**
   * The tile: no bytes at all without objects, compressed if it `isCompressed`. It lacks layers that are too large.
   * @throws LayersMissing
   * @throws Failure busy, internal (no layer alone is to blame)
   */
  async make({ plan, origin, signal, client }: VectorWork): Promise<MadeTile> {
    const atAntimeridian = reachesBeyond(bufferedBox(plan, origin, 1));
    const statements = await plan.statements(atAntimeridian);
    if (statements.length === 0) return this.encoded([]);
    const box = boxValues(tileBox(origin));
    const begun = this.options.clock.now();
    const release = await this.semaphore.acquire({ owners: [plan.owner, ...clientOwners(client)], signal });
    const held = this.options.clock.now();
    try {
      return await this.encoded(await this.layers(statements, box, { begun: held, signal }));
    } catch (error) {
      signal.throwIfAborted();
      if (!isRefusal(error)) throw error;
      const missing = await this.blamed(error, await plan.ofEach(atAntimeridian), box, signal);
      // No layer fails alone: what was in the way is over.
      if (missing.length === 0) throw causedBy(failed("internal", "The tile could not be made."), error);
      const isLate = missing.some(({ cause }) => cause === "overrun");
      this.options.bad.note(plan, origin.z, missing, isLate ? begun : undefined);
      throw new LayersMissing(missing, false);
    } finally {
      release();
    }
  }

  private async encoded(layers: readonly MadeLayer[]): Promise<MadeTile> {
    const tiles = layers.flatMap(({ tile }) => tile ?? []);
    const missing = layers.flatMap(({ layer, tile }) => (tile ? [] : [{ ...layer, cause: "size" as const }]));
    const common = {
      hash: hashOf(tiles),
      solid: undefined,
      ...(missing.length > 0 && { missing }),
    };
    // A copy, as small buffers are views of a shared pool.
    if (bytesOf(layers) <= packetBytes) return { bytes: new Uint8Array(Buffer.concat(tiles)), ...common };
    return { bytes: await this.compressors.compress(tiles), ...common };
  }

  /** The layers of the tile in MVT: one after the other they are the tile. */
  private async layers(
    statements: readonly VectorStatement[],
    box: readonly [string, string],
    { begun, signal }: Making,
  ): Promise<readonly MadeLayer[]> {
    let layers: readonly MadeLayer[] = [];
    let ms = 0;
    for (const statement of statements) {
      if (ms > this.options.deadlineMs) throw new TooSlow();
      this.refuseAfter(begun);
      const made = await this.made(statement, box, signal);
      layers = withoutLargest([...layers, ...made.layers]);
      ms += made.ms;
    }
    return layers;
  }

  /**
   * The layers whose statements PostgreSQL refuses, or does not answer in time; if there are none, and the tile took too long,
   * the slowest.
   */
  private async blamed(
    error: Refusal,
    statements: readonly VectorStatement[],
    box: readonly [string, string],
    signal: AbortSignal,
  ): Promise<MissingLayer[]> {
    const { deadlineMs } = this.options;
    const from = this.options.clock.now();
    const missing: MissingLayer[] = [];
    const times: { readonly layer: MissingLayer; readonly ms: number }[] = [];
    let ms = 0;
    for (const statement of statements) {
      if (ms > deadlineMs) break;
      if (missing.length === 0) this.refuseAfter(from);
      const [layer] = statement.layers as [VectorStatement["layers"][0]];
      const begun = performance.now();
      try {
        const made = await this.made(statement, box, signal);
        ms += made.ms;
        times.push({ layer: { ...layer, cause: "overrun", reason: error }, ms: made.ms });
      } catch (own) {
        signal.throwIfAborted();
        if (!isRefusal(own)) throw own;
        ms += performance.now() - begun;
        missing.push({ ...layer, cause: isLate(own) ? "overrun" : "database", reason: own });
      }
    }
    if (missing.length > 0 || !isLate(error)) return missing;
    return slowest(times, shareOfRest * deadlineMs, false);
  }

  /** @throws Failure busy when a tile holds its turn for long, be it that PostgreSQL works on it or on others. */
  private refuseAfter(begun: number): void {
    const { clock, deadlineMs } = this.options;
    if (clock.now() - begun > mostDeadlines * deadlineMs)
      throw busy("The database is too slow for the tile now.");
  }

  /** What a statement gives, and how long PostgreSQL worked on it: waits for a connection, or for this process, do not count. */
  private async made(
    { layers, text, values }: VectorStatement,
    box: readonly [string, string],
    signal: AbortSignal,
  ): Promise<{ readonly layers: readonly MadeLayer[]; readonly ms: number }> {
    const options = { prepare: true, signal };
    const rows = await this.options.db.query<LayerRow>(text, [...box, ...values], options);
    rows.sort((one, other) => one.n - other.n);
    return {
      layers: rows.map(({ n, tile }) => ({ layer: layers[n]!, tile })),
      // When the first was sent. The others may have waited for this process to receive them.
      ms: Math.min(...rows.map(({ ms }) => ms)),
    };
  }
}

const bytesOf = (layers: readonly MadeLayer[]): number =>
  layers.reduce((sum, { tile }) => sum + (tile?.length ?? 0), 0);

/** The same with `maxBytes` at most. */
function withoutLargest(layers: readonly MadeLayer[]): readonly MadeLayer[] {
  let bytes = bytesOf(layers);
  if (bytes <= maxBytes) return layers;
  const left = new Set<MadeLayer>();
  const largest = layers.toSorted((one, other) => bytesOf([other]) - bytesOf([one]));
  for (const layer of largest) {
    if (bytes <= maxBytes) break;
    left.add(layer);
    bytes -= bytesOf([layer]);
  }
  return layers.map((one) => (left.has(one) ? { ...one, tile: null } : one));
}

/** The statements of a tile took too long together. */
class TooSlow extends Error {
  constructor() {
    super("The layers of the tile take too long together.");
  }
}

/** PostgreSQL refused a statement, such as for a column that was deleted meanwhile, or it took too long. */
type Refusal = TooSlow | (Error & { readonly code: unknown });

const isRefusal = (error: unknown): error is Refusal =>
  error instanceof TooSlow || (error instanceof Error && "severity" in error && "code" in error);

const isLate = (error: Refusal): boolean => error instanceof TooSlow || error.code === queryCanceled;

function hashOf(parts: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url").slice(0, 20);
}
