import { formatAddress, parseAddress } from "../address.js";
import { hasObjects, type TreeItem } from "../layer-tree.js";
import { type MapId, rights } from "../map-server.js";
import { Conflict } from "./conflict.js";
import type { Dialogs } from "./dialogs.js";
import { keepFocus } from "./focus.js";
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
  /** Shows what the popups of a layer are made of. */
  readonly popup: (map: MapId, item: TreeItem) => void;
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
      keepFocus(button);
    }
  }

  private async show(mapId: MapId, on: ReadonlySet<number>): Promise<void> {
    const { place, map, changes, dialogs, button, reload } = this.parts;
    const mayChange = ((place.listed?.access ?? 0) & rights.administer) !== 0;
    let [shown, { value: now }] = await Promise.all([changes.shown(mapId, on), changes.map(mapId)]);
    if (this.unpublished.has(keyOf(mapId)) && mayChange && !now.has_publication) {
      if (shown.see === "behind") {
        await changes.savePublication(mapId, on, shown);
        shown = { ...shown, see: "same" };
      }
      now = await changes.changeMap(mapId, now, { isPublic: true });
      this.unpublished.delete(keyOf(mapId));
    }
    await reload();
    if (!isSame(place.mapId, mapId)) return;
    /** Who saves once more does so for what others have made of it. */
    const orLookAgain = async (error: unknown) => {
      if (error instanceof Conflict)
        [shown, { value: now }] = await Promise.all([changes.shown(mapId, on), changes.map(mapId)]);
      throw error;
    };
    const page = new URL("./", document.baseURI);
    page.hash = formatAddress({ ...parseAddress(""), ...mapId });
    const dialog = showPublishDialog(
      dialogs,
      {
        link: page.href,
        mayChange,
        seen: map.seen,
        readersSee: shown.see,
        hasBackground: place.listed?.hasBackground === true,
        popups: map.tree?.leaves.filter(hasObjects) ?? [],
      },
      {
        now: () => ({
          title: now.name || mapId.map,
          isPublic: now.has_publication,
          startView: now.start_view,
          description: now.comment,
          base: now.base_map,
        }),
        change: async (change) => {
          now = await changes.changeMap(mapId, now, change).catch(orLookAgain);
          // It is changed, whether the list of maps can be read or not.
          const tell = (error: unknown) => dialogs.tell(error);
          await reload().catch(tell);
          if (change.base !== undefined && isSame(place.mapId, mapId)) await map.reload().catch(tell);
        },
        popup: (layer) => this.parts.popup(mapId, map.itemOf(layer.layerId) ?? layer),
        saveShown: () => changes.savePublication(mapId, on, shown).catch(orLookAgain),
      },
    );
    dialog.addEventListener("close", () => keepFocus(button));
  }
}
