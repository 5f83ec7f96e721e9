import { type ChangedArea, LiveChanges } from "../live-changes.js";
import { type MapServer, ServerError } from "../map-server.js";
import type { MapCanvas } from "./map-canvas.js";
import type { ObjectEditing } from "./object-editing.js";
import type { OpenMap } from "./open-map.js";
import type { Turns } from "./turns.js";
import type { Workplace } from "./workplace.js";

export interface WatchParts {
  readonly place: Workplace;
  readonly server: MapServer;
  readonly map: OpenMap;
  readonly canvas: MapCanvas;
  readonly objects: ObjectEditing;
  readonly turns: Turns;
}
export interface WatchEvents {
  /** The open map is not there any more, or not for this user. */
  closed(): void;
  /** Reads the list of maps anew. @throws ServerError */
  relist(): Promise<void>;
  /** The session has ended while nothing was asked for. */
  sessionEnded(): void;
}

/** Shows what others change in the open map: its tiles, its tree, the table of objects and the object that is open. */
export class MapWatch {
  private readonly live: LiveChanges;
  /** Whether what has changed is read when nothing is being changed here. */
  private isWaiting = false;

  constructor(
    private readonly parts: WatchParts,
    private readonly events: WatchEvents,
  ) {
    this.live = new LiveChanges({
      changed: (areas, layers) => this.changed(areas, layers),
      mapChanged: () => void this.mapChanged(),
      mapUnwatched: () => void this.mapChanged(),
      sessionDoubtful: () => void this.refused(),
    });
  }

  /** Hears of the map that is open, if one is. @param shownSince when it was asked for, in milliseconds since the page was opened */
  follow(shownSince: number): void {
    const { place, server } = this.parts;
    const { mapId } = place;
    if (mapId) this.live.open(server.changes(mapId), shownSince, () => server.stateOf(mapId));
    else this.close();
  }

  close(): void {
    this.live.close();
  }

  private changed(areas: readonly ChangedArea[] | undefined, layers: readonly number[] | undefined): void {
    const { canvas, objects } = this.parts;
    canvas.tiles.renew(areas);
    objects.changed(layers);
  }

  private async mapChanged(): Promise<void> {
    const { map, place, turns } = this.parts;
    if (this.isWaiting) return;
    this.isWaiting = true;
    await turns.end();
    this.isWaiting = false;
    try {
      await map.follow();
      // Its title and its base map are in the list.
      const before = JSON.stringify(place.listed);
      await this.events.relist();
      if (JSON.stringify(place.listed) !== before) map.listedAnew();
    } catch (error) {
      const status = error instanceof ServerError ? error.status : 0;
      if (status === 401) await this.checkSession();
      else if (status === 403 || status === 404) this.events.closed();
    }
  }

  /** The session has ended, or the map is not there any more. */
  private async refused(): Promise<void> {
    if (await this.checkSession()) await this.mapChanged();
  }

  /** @returns whether it goes on */
  private async checkSession(): Promise<boolean> {
    const { place, server } = this.parts;
    const { mapId } = place;
    if (!mapId) return false;
    if (await server.checkSession(mapId.project)) return true;
    this.close();
    this.events.sessionEnded();
    return false;
  }
}
