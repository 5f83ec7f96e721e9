import type { CatalogCache } from "../catalog/catalog.js";
import type { Caller, MapState } from "../catalog/state.js";
import { Failure } from "../errors.js";
import type { TileAddress } from "./address.js";
import type { AddressCache } from "./addresses.js";
import { isPlanCurrent, type Plan } from "./plan.js";
import type { Planner } from "./planner.js";
import { OutdatedPlan, type TileService } from "./service.js";
import type { Tile } from "./tile.js";

/** From a tile's address to its answer: what is ready is given out, what is not is planned, made and kept. */

export interface TileAnswersOptions<Answer> {
  readonly catalog: Pick<CatalogCache, "isUnchangedInDatabase">;
  readonly changes: { readonly trusted: boolean };
  readonly planner: Planner;
  readonly tiles: TileService;
  readonly addresses: AddressCache<Answer>;
}

/** The map that is asked for, and who asks. */
export interface Viewing {
  readonly map: MapState;
  readonly caller: Caller;
  /** Whether anybody would get the same answer at this raw address, so that it may be kept under it; undefined = no. */
  readonly publicAddress: string | undefined;
}

/** A tile that is ready to be answered. */
export interface Drawn {
  readonly tile: Tile;
  readonly plan: Plan;
  readonly isPublic: boolean;
  /**
   * Whether the answer is right at this moment. One that something has overtaken while it was made is for who asked,
   * and for nobody else: no cache on its way may keep it.
   */
  readonly isCurrent: boolean;
}

export interface TileAsked<Answer> {
  /** Looks the map up, and whether the caller may see it. @throws Failure */
  readonly view: () => Promise<Viewing>;
  readonly address: TileAddress;
  /** Made when somebody asks for it, and a tile that is at hand does not. */
  readonly signal: () => AbortSignal;
  readonly answer: (drawn: Drawn) => Answer;
  /** Memory that a public answer takes while it is kept. */
  readonly bytes: (drawn: Drawn) => number;
}

/** A map that changes while its tile is drawn is planned again so often. */
const mostAttempts = 3;

export class TileAnswers<Answer> {
  constructor(private readonly options: TileAnswersOptions<Answer>) {}

  /** A public answer that is kept for this raw address. */
  ready(address: string): Answer | undefined {
    return this.options.changes.trusted ? this.options.addresses.get(address) : undefined;
  }

  /**
   * The answer as it is now: it shows every edit whose answer was sent before this call.
   * @throws Failure of `view`; busy, internal (it could not be drawn)
   */
  async make(asked: TileAsked<Answer>): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const viewing = await asked.view();
      try {
        return await this.draw(viewing, asked);
      } catch (error) {
        // Layers, columns or the map itself may have gone meanwhile: then it is another picture that is asked for.
        if (attempt === mostAttempts || !(await this.isOvertaken(viewing.map, error))) throw error;
      }
    }
  }

  private async draw({ map, caller, publicAddress }: Viewing, asked: TileAsked<Answer>): Promise<Answer> {
    const { planner, tiles, addresses } = this.options;
    const { address } = asked;
    const plan = await planner.plan(map, caller, address);
    const tile = await tiles.tile({
      plan,
      coord: address.coord,
      format: address.format,
      quality: address.quality,
      signal: asked.signal,
    });
    // Nothing is awaited from here on: what is found right is kept as it is.
    const isCurrent = plan.complete && isPlanCurrent(plan) && tiles.isCurrent(plan, address.coord, tile);
    const drawn: Drawn = { tile, plan, isPublic: publicAddress !== undefined, isCurrent };
    const answer = asked.answer(drawn);
    if (isCurrent && publicAddress !== undefined)
      addresses.set(publicAddress, answer, { sources: plan.sources, bytes: asked.bytes(drawn) });
    return answer;
  }

  private async isOvertaken(map: MapState, error: unknown): Promise<boolean> {
    if (error instanceof OutdatedPlan) return true;
    if (!(error instanceof Failure) || error.kind !== "execution") return false;
    return !(await this.options.catalog.isUnchangedInDatabase(map).catch(() => true));
  }
}
