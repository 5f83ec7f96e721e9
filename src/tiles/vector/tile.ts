import { createHash } from "node:crypto";
import type { Clock } from "../../clock.js";
import { causedBy, type Failure, failed } from "../../errors.js";
import { tileBox } from "../../geo/tile.js";
import { reachesBeyond } from "../../geo/world-copies.js";
import type { Database } from "../../storage/postgres.js";
import { clientOwners } from "../../turns/clients.js";
import { FairSemaphore } from "../../turns/fair-semaphore.js";
import type { TileAnswers } from "../answers.js";
import type { BadLayers } from "../bad-layers.js";
import type { TileEncoding } from "../formats.js";
import { LayersMissing, type MissingLayer } from "../missing-layer.js";
import { bufferedBox, type MadeTile, type TileService, type TileWork } from "../service.js";
import type { VectorAddress } from "./address.js";
import { Compressors } from "./compressor.js";
import type { LayerStatement, VectorPlan } from "./planner.js";
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
  /** Longest wait, and after that longest work on a tile but for its last statement. */
  readonly deadlineMs: number;
}

/** Tiles that fit into a packet of the network are not compressed. */
const packetBytes = 1_400;

/** Whether the bytes of a tile are compressed by gzip. MVT begins with the tag of its first layer. */
export const isCompressed = ([first, second]: Uint8Array): boolean => first === 0x1f && second === 0x8b;

/** SQLSTATE of a statement that took too long. */
const queryCanceled = "57014";

/** The way from addresses of vector tiles to answers. */
export type VectorTileService = TileService<VectorPlan, TileEncoding>;
export type VectorAnswers<Answer> = TileAnswers<Answer, VectorPlan, VectorAddress>;

type VectorWork = TileWork<VectorPlan, TileEncoding>;

interface LayerRow {
  readonly n: number;
  /** Null = the layers are too large together. */
  readonly tile: Buffer | null;
  readonly objects: number;
}

export class VectorTiles {
  private readonly turns: FairSemaphore;
  private readonly compressors = new Compressors();

  constructor(private readonly options: VectorTilesOptions) {
    const { concurrency, queueLength, deadlineMs } = options;
    this.turns = new FairSemaphore({
      permits: concurrency + 1,
      kept: 1,
      mostWaiting: queueLength,
      timeoutMs: deadlineMs,
      refusal: "Too many vector tiles are being made now.",
    });
  }

  /**
   * The tile: no bytes at all without objects, compressed if it `isCompressed`.
   * @throws LayersMissing
   * @throws Failure busy, internal (it takes too long, or is too large)
   */
  async make({ plan, origin, signal, client }: VectorWork): Promise<MadeTile> {
    const atSeam = reachesBeyond(bufferedBox(plan, origin, 1));
    const statements = plan.statements(atSeam);
    if (statements.length === 0) return this.encoded([]);
    const box = boxValues(tileBox(origin));
    const begun = this.options.clock.now();
    const release = await this.turns.acquire({ owners: [plan.owner, ...clientOwners(client)], signal });
    try {
      return await this.encoded(await this.layers(statements, box, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (!isRefusal(error)) throw error;
      const missing = await this.refused(plan.ofEach(atSeam), box, signal);
      // None fails alone: what was in the way is over, or they are too much together.
      if (missing.length === 0) throw failureOf(error);
      const isLate = missing.some(({ cause }) => cause === "overrun");
      this.options.bad.note(plan, origin.z, missing, isLate ? begun : undefined);
      throw new LayersMissing(missing, false);
    } finally {
      release();
    }
  }

  /** @param layers of the tile: one after the other they are the tile */
  private async encoded(layers: readonly Buffer[]): Promise<MadeTile> {
    const length = layers.reduce((sum, layer) => sum + layer.length, 0);
    const hash = hashOf(layers);
    // A copy, as small buffers are views of a shared pool.
    if (length <= packetBytes)
      return { bytes: new Uint8Array(Buffer.concat(layers)), hash, solid: undefined };
    return { bytes: await this.compressors.compress(layers), hash, solid: undefined };
  }

  /** The layers of the tile in MVT: one after the other they are the tile. */
  private async layers(
    statements: readonly VectorStatement[],
    box: readonly [string, string],
    signal: AbortSignal,
  ): Promise<Buffer[]> {
    const tiles: Buffer[] = [];
    let bytes = 0;
    const until = performance.now() + this.options.deadlineMs;
    for (const statement of statements) {
      if (performance.now() > until) throw tooSlow();
      for (const { tile } of await this.rows(statement, box, signal)) {
        bytes += tile?.length ?? 0;
        if (!tile || bytes > maxBytes) throw tooLargeTile();
        tiles.push(tile);
      }
    }
    return tiles;
  }

  /** The layers whose statements PostgreSQL refuses, or does not answer in time. */
  private async refused(
    layers: readonly LayerStatement[],
    box: readonly [string, string],
    signal: AbortSignal,
  ): Promise<MissingLayer[]> {
    const missing: MissingLayer[] = [];
    const until = performance.now() + this.options.deadlineMs;
    for (const { layer, statement } of layers) {
      if (performance.now() > until) break;
      try {
        await this.rows(statement, box, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!isRefusal(error)) throw error;
        missing.push({
          ...layer,
          cause: error.code === queryCanceled ? "overrun" : "database",
          reason: error,
        });
      }
    }
    return missing;
  }

  private async rows(
    { text, values, limits }: VectorStatement,
    box: readonly [string, string],
    signal: AbortSignal,
  ): Promise<LayerRow[]> {
    const options = { prepare: true, signal };
    const rows = await this.options.db.query<LayerRow>(text, [...box, ...values], options);
    if (rows.some(({ n, objects }) => objects > limits[n]!)) throw tooLargeTile();
    return rows.sort((one, other) => one.n - other.n);
  }
}

const tooSlow = (): Failure => failed("internal", "The tile takes too long to make.");
const tooLargeTile = (): Failure =>
  failed("internal", "The tile holds too many objects: ask for fewer layers, or for tiles of a higher zoom.");

/** Whether PostgreSQL refused a statement, such as for a column that was deleted meanwhile, or it took too long. */
const isRefusal = (error: unknown): error is Error & { readonly code: unknown } =>
  error instanceof Error && "severity" in error && "code" in error;

const failureOf = (error: Error & { readonly code: unknown }): Failure =>
  causedBy(
    error.code === queryCanceled ? tooSlow() : failed("internal", "The tile could not be made."),
    error,
  );

function hashOf(parts: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url").slice(0, 20);
}
