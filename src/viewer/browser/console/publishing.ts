import { formatAddress, parseAddress } from "../address.js";
import { type MapId, rights } from "../map-server.js";
import type { Dialogs } from "./dialogs.js";
import type { MapEdits } from "./map-edits.js";
import type { OpenMap } from "./open-map.js";
import { showPublishDialog } from "./publish-dialog.js";
import { isSame, keyOf, type Workplace } from "./workplace.js";

export interface PublishingParts {
  readonly place: Workplace;
  readonly map: OpenMap;
  readonly changes: MapEdits;
  readonly dialogs: Dialogs;
  readonly button: HTMLButtonElement;
  /** Reads the list of maps anew. @throws ServerError */
  readonly reload: () => Promise<void>;
}

/** From the open map to one that others see. */
export class Publishing {
  /** Maps that were made here, and of which nobody has chosen yet who sees them: publishing opens them. */
  private readonly unpublished = new Set<string>();

  constructor(private readonly parts: PublishingParts) {}

  made(map: MapId): void {
    this.unpublished.add(keyOf(map));
  }

  async publish(): Promise<void> {
    const { place, map, dialogs, button } = this.parts;
    const { mapId } = place;
    if (!mapId || !map.tree || button.disabled) return;
    button.disabled = true;
    try {
      await this.show(mapId, map.on);
    } catch (error) {
      dialogs.tell(error);
    } finally {
      button.disabled = false;
    }
  }

  private async show(mapId: MapId, on: ReadonlySet<number>): Promise<void> {
    const { place, changes, dialogs, reload } = this.parts;
    const mayChange = ((place.listed?.access ?? 0) & rights.administer) !== 0;
    let readersSee = await changes.readersSee(mapId, on);
    if (this.unpublished.has(keyOf(mapId)) && mayChange && place.listed?.isPrivate) {
      if (readersSee === "behind") {
        await changes.savePublication(mapId, on);
        readersSee = "same";
      }
      await changes.changeMap(mapId, { isPublic: true });
      this.unpublished.delete(keyOf(mapId));
    }
    await reload();
    if (!isSame(place.mapId, mapId)) return;
    const page = new URL("./", document.baseURI);
    page.hash = formatAddress({ ...parseAddress(""), ...mapId });
    showPublishDialog(
      dialogs,
      {
        title: place.listed?.name || mapId.map,
        isPublic: place.listed?.isPrivate === false,
        link: page.href,
        mayChange,
        readersSee,
      },
      {
        change: async (change) => {
          await changes.changeMap(mapId, change);
          // It is changed, whether the list of maps can be read or not.
          await reload().catch((error: unknown) => dialogs.tell(error));
        },
        saveShown: () => changes.savePublication(mapId, on),
      },
    );
  }
}
