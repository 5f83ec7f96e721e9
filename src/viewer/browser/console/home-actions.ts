import type { MapId, MapInfo } from "../map-server.js";
import type { PopupMenu } from "../popup-menu.js";
import { confirmed } from "./confirmed.js";
import { Conflict } from "./conflict.js";
import type { Dialogs } from "./dialogs.js";
import type { Home } from "./home.js";
import type { MapEdits, MapNow } from "./map-edits.js";
import { askName } from "./name-dialog.js";
import type { Turns } from "./turns.js";
import type { Workplace } from "./workplace.js";

export interface HomeActionsParts {
  readonly place: Workplace;
  readonly home: Home;
  readonly menu: PopupMenu;
  readonly changes: MapEdits;
  readonly turns: Turns;
  readonly dialogs: Dialogs;
  readonly open: (map: MapInfo) => void;
  /** Shows who sees a map. */
  readonly whoSees: (map: MapInfo) => void;
  /** Reads the list of maps anew. @throws ServerError */
  readonly reload: () => Promise<void>;
}

/** What the user does with maps that are not open. */
export class HomeActions {
  constructor(private readonly parts: HomeActionsParts) {}

  openMenu(map: MapInfo, opener: HTMLElement): void {
    const { menu, dialogs, open, whoSees, place } = this.parts;
    const { t } = dialogs.locale;
    menu.open({ label: t("layerMenu", { name: titleOf(map) }), at: opener.getBoundingClientRect(), opener }, [
      { icon: "open", label: t("openMap"), press: () => open(map) },
      { icon: "pencil", label: t("rename"), press: () => void this.rename(map) },
      ...(place.mayAdminister
        ? [{ icon: "people" as const, label: t("whoSees"), press: () => whoSees(map) }]
        : []),
      { icon: "trash", label: t("delete"), press: () => void this.remove(map) },
    ]);
  }

  private async rename(map: MapInfo): Promise<void> {
    const { dialogs } = this.parts;
    const { t } = dialogs.locale;
    const mapId = this.mapIdOf(map);
    const seen = await this.read(mapId);
    if (!seen) return;
    const label = { title: t("renameLayer", { name: titleOf(map) }), label: t("mapTitle") };
    const title = await askName(dialogs, { ...label, value: seen.name });
    if (title !== undefined) await this.renameTo(mapId, seen, title);
  }

  private async renameTo(mapId: MapId, seen: MapNow, title: string): Promise<void> {
    const again = async () => {
      const now = await this.read(mapId);
      if (now) await this.renameTo(mapId, now, title);
    };
    const change = () => this.parts.changes.changeMap(mapId, seen, { title });
    await this.edit(change, mapId.map, () => void again());
  }

  private async remove(map: MapInfo): Promise<void> {
    const { dialogs, changes, home } = this.parts;
    const { t } = dialogs.locale;
    const name = titleOf(map);
    const mapId = this.mapIdOf(map);
    const seen = await this.read(mapId);
    if (!seen) return;
    const isSure = await confirmed(dialogs, {
      title: t("deleteLayer", { name }),
      text: t("deleteMapText"),
      action: t("delete"),
    });
    if (!isSure) return;
    const next = home.beside(map.code);
    if (!(await this.edit(() => changes.removeMap(mapId, seen), next))) return;
    const entry = await changes.mapInBin(mapId).catch(() => undefined);
    if (entry === undefined) return;
    const restore = () => void this.edit(() => changes.restore(mapId, entry), map.code);
    dialogs.toasts.offerUndo(t("deletedName", { name }), restore);
  }

  private mapIdOf({ code }: MapInfo): MapId {
    return { project: this.parts.place.projectCode!, map: code };
  }

  /** A map that is to be changed, as it is now; undefined = it cannot be read, which is told. */
  private read(mapId: MapId): Promise<MapNow | undefined> {
    const read = this.parts.changes.map(mapId).then(({ value }) => value);
    return read.catch((error: unknown) => {
      this.parts.dialogs.tell(error);
      return undefined;
    });
  }

  /**
   * Changes a map in its turn; what goes wrong is told.
   * @param focused code of the map whose entry has the focus afterwards
   * @param again offered when somebody else has changed the same
   */
  private edit(
    change: () => Promise<unknown>,
    focused: string | undefined,
    again?: () => void,
  ): Promise<boolean> {
    const { turns, dialogs, place, home, reload } = this.parts;
    const tell = (error: unknown) => dialogs.tell(error);
    const work = async () => {
      let isDone = true;
      try {
        await change();
      } catch (error) {
        isDone = false;
        dialogs.tell(error, error instanceof Conflict ? again : undefined);
      }
      // Also after a failure: somebody else may have changed it.
      await reload().catch(tell);
      if (!home.element.hidden && place.project) home.show(place.project, focused);
      return isDone;
    };
    return turns.take(work).catch((error: unknown) => {
      tell(error);
      return false;
    });
  }
}

const titleOf = ({ name, code }: MapInfo): string => name || code;
