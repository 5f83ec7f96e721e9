import type { CatalogCache } from "../catalog/catalog.js";
import type { Caller, MapState } from "../catalog/state.js";
import type { Clock } from "../clock.js";
import { Failure } from "../errors.js";
import type { TileCoord } from "../geo/tile.js";
import type { PackResponse } from "../hosts/messages.js";
import type { TileAddress } from "./address.js";
import type { AddressCache } from "./address-cache.js";
import type { TileEncoding, TileQuality } from "./formats.js";
import { isPlanCurrent, type Plan, type TilePlan } from "./plan.js";
import type { Tile } from "./tile.js";
import { mayBePacked, OutdatedPlan, type TileService } from "./tile-service.js";

/** From a tile's address to its answer: cached answers are returned, others are planned, drawn and cached. */

/** The address of a tile of any kind. */
export interface AnyAddress<F extends TileEncoding = TileEncoding> {
  readonly coord: TileCoord;
  readonly format: F;
  readonly quality: TileQuality;
}

/** Images by default. */
export interface TileAnswersOptions<Answer, P extends TilePlan = Plan, A extends AnyAddress = TileAddress> {
  readonly catalog: Pick<CatalogCache, "isUnchangedInDatabase">;
  readonly changes: { readonly trusted: boolean };
  readonly planner: { plan(map: MapState, caller: Caller, address: A): Promise<P> };
  readonly tiles: TileService<P, A["format"]>;
  /** The address of the image to draw again before somebody asks; undefined = none. */
  readonly redrawn: (address: A) => TileAddress | undefined;
  readonly addresses: AddressCache<Answer>;
  readonly clock: Pick<Clock, "now">;
}

/** The map of a request and the caller, who may read it. */
export interface MapAccess {
  readonly map: MapState;
  readonly caller: Caller;
  /** The raw URL, if the answer is the same for everybody and so may be cached under it; else undefined. */
  readonly publicAddress: string | undefined;
}

/** A tile with what its answer depends on. */
export interface DrawnTile<P extends TilePlan = Plan> {
  readonly tile: Tile;
  readonly plan: P;
  readonly isPublic: boolean;
  /**
   * Whether the answer is still current. If something changed while it was drawn, it is valid for this request only,
   * and no cache may store it.
   */
  readonly isCurrent: boolean;
  /** How long the tile may be shown: if it shows something that is not ours, or while this node may not hear of changes. */
  readonly secondsLeft: number | undefined;
}

export interface AnswerRequest<Answer, P extends TilePlan = Plan, A = TileAddress> {
  /** Finds the map and checks that the caller may read it. @throws Failure */
  readonly access: () => Promise<MapAccess>;
  readonly address: A;
  /** The network of the client, who takes turns with others; signed-in users do by account. */
  readonly client: string;
  /** Called only when the tile is in no cache: a signal costs more than the look-up. */
  readonly signal: () => AbortSignal;
  readonly answer: (drawn: DrawnTile<P>) => Answer;
  /** Memory that a cached answer takes. */
  readonly bytes: (drawn: DrawnTile<P>, answer: Answer) => number;
}

/** A tile for the server's own use, which has no address that its answer is kept under. */
export interface DrawRequest<A = TileAddress> {
  /** Finds the map and checks that the caller may read it. @throws Failure */
  readonly access: () => Promise<Pick<MapAccess, "map" | "caller">>;
  readonly address: A;
  /** As of `AnswerRequest`; absent = the server itself. */
  readonly client?: string;
  readonly signal: AbortSignal;
}

/** How often a tile is planned, if its map changes while it is drawn. */
const maxAttempts = 3;

export class TileAnswers<Answer, P extends TilePlan = Plan, A extends AnyAddress = TileAddress> {
  constructor(private readonly options: TileAnswersOptions<Answer, P, A>) {}

  /** The cached public answer of this raw URL. */
  ready(address: string): Answer | undefined {
    return this.options.changes.trusted ? this.options.addresses.get(address) : undefined;
  }

  /**
   * The current answer: it shows every edit whose answer was sent before this call.
   * @throws Failure of `access`; busy, internal (it could not be drawn)
   */
  make(request: AnswerRequest<Answer, P, A>): Promise<Answer> {
    return this.attempt(request.access, (mapAccess, isLast) => this.answer(mapAccess, request, isLast));
  }

  /** The current tile, otherwise as `make`. */
  tile({ access, address, client = "", signal }: DrawRequest<A>): Promise<Tile> {
    return this.attempt(
      access,
      async (mapAccess, isLast) =>
        (await this.draw(mapAccess, { address, client, signal: () => signal }, isLast)).tile,
    );
  }

  /**
   * Packs the tile more closely, as of `TileService.pack`.
   * @throws Failure of `access`; what `pack` throws
   */
  async pack(
    { access, address }: Pick<DrawRequest<A>, "access" | "address">,
    pack: (bytes: Uint8Array) => Promise<PackResponse>,
  ): Promise<number | undefined> {
    const { planner, tiles } = this.options;
    const { map, caller } = await access();
    return tiles.pack({ plan: await planner.plan(map, caller, address), ...address }, pack);
  }

  private async attempt<Access extends Pick<MapAccess, "map">, Result>(
    access: () => Promise<Access>,
    work: (access: Access, isLast: boolean) => Promise<Result>,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const mapAccess = await access();
      try {
        return await work(mapAccess, attempt === maxAttempts);
      } catch (error) {
        // Layers, columns or the map may have been deleted meanwhile: then the tile is planned again.
        if (attempt === maxAttempts || !(await this.isOutdated(mapAccess.map, error))) throw error;
      }
    }
  }

  /** @param isLast what cannot be drawn is left out, even if there may be a newer plan: changes follow each other too fast */
  private async draw(
    { map, caller }: Pick<MapAccess, "map" | "caller">,
    { address, client, signal }: Pick<AnswerRequest<Answer, P, A>, "address" | "client" | "signal">,
    isLast: boolean,
  ): Promise<Pick<DrawnTile<P>, "tile" | "plan">> {
    const { planner, tiles } = this.options;
    const plan = await planner.plan(map, caller, address);
    const { coord, format, quality } = address;
    const who = caller.accountId === null ? client : `a${caller.accountId}`;
    const request = { plan, coord, format, quality, client: who, signal };
    return { plan, tile: await tiles.tile(request, async () => !isLast && this.isOutdatedMap(map)) };
  }

  private async answer(
    mapAccess: MapAccess,
    request: AnswerRequest<Answer, P, A>,
    isLast: boolean,
  ): Promise<Answer> {
    const { tiles, addresses, clock, changes } = this.options;
    const { address } = request;
    const { publicAddress } = mapAccess;
    const { plan, tile } = await this.draw(mapAccess, request, isLast);
    // Nothing is awaited from here on, so that what is found current is current when it is cached.
    const isCurrent =
      plan.complete && !tile.missing && isPlanCurrent(plan) && tiles.isCurrent(plan, address.coord, tile);
    // Otherwise the CDN may have been told of a change that this node has not received.
    const isTrusted = changes.trusted;
    const { expiresAt } = tile;
    const ownSeconds =
      expiresAt === undefined ? undefined : Math.max(0, Math.floor((expiresAt - clock.now()) / 1_000));
    const secondsLeft = isTrusted ? ownSeconds : 0;
    const drawn = { tile, plan, isPublic: publicAddress !== undefined, isCurrent, secondsLeft };
    const answer = request.answer(drawn);
    if (isCurrent && isTrusted && publicAddress !== undefined) {
      const { map } = mapAccess;
      const redrawn = this.options.redrawn(address);
      addresses.set(publicAddress, answer, {
        tile: redrawn && { project: map.project.code, map: map.code, address: redrawn },
        isPackable: !tile.isPacked && mayBePacked(tile),
        sources: plan.sources,
        bytes: request.bytes(drawn, answer),
        expiresAt,
      });
    }
    return answer;
  }

  private async isOutdated(map: MapState, error: unknown): Promise<boolean> {
    if (error instanceof OutdatedPlan) return true;
    if (!(error instanceof Failure) || error.kind !== "execution") return false;
    return this.isOutdatedMap(map);
  }

  private async isOutdatedMap(map: MapState): Promise<boolean> {
    return !(await this.options.catalog.isUnchangedInDatabase(map).catch(() => true));
  }
}
