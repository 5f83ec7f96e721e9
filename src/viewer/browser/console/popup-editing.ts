import type { TreeItem } from "../layer-tree.js";
import type { MapId, MapServer } from "../map-server.js";
import { Pictures } from "../pictures.js";
import { Conflict } from "./conflict.js";
import type { Dialogs } from "./dialogs.js";
import type { Edits } from "./edits.js";
import { LateDialog } from "./late-dialog.js";
import type { MapEdits } from "./map-edits.js";
import type { OpenMap } from "./open-map.js";
import type { PopupOfLayer } from "./popup/dialog.js";
import type { EditableTree } from "./tree-editing.js";
import { isSame, type Workplace } from "./workplace.js";

export interface PopupEditingParts {
  readonly place: Workplace;
  readonly server: MapServer;
  readonly edits: Edits;
  readonly changes: MapEdits;
  readonly map: OpenMap;
  readonly rows: EditableTree;
  readonly dialogs: Dialogs;
}

type ShowPopupDialog = typeof import("./popup/dialog.js").showPopupDialog;
/** What the popups of a layer show now, and of what: its columns, and the first of its objects. */
interface PopupNow extends Pick<PopupOfLayer, "popup" | "columns" | "object"> {
  readonly mapId: MapId;
  readonly item: TreeItem;
}

/** What the popups of a layer show. The dialog is loaded when it is first opened. */
export class PopupEditing {
  private readonly late: LateDialog;

  constructor(private readonly parts: PopupEditingParts) {
    this.late = new LateDialog(parts.dialogs, "popup");
  }

  open(mapId: MapId, item: TreeItem): Promise<void> {
    return this.late.open(() => this.load(mapId, item));
  }

  private async load(mapId: MapId, item: TreeItem): Promise<() => void> {
    const { edits, changes } = this.parts;
    const [{ showPopupDialog }, popup, found] = await Promise.all([
      import("./popup/dialog.js"),
      changes.popup(mapId, item),
      edits.inSession(mapId.project, () => this.example(mapId, item.element.code)),
    ]);
    return () => this.show(showPopupDialog, { mapId, item, popup, ...found });
  }

  private show(
    showPopupDialog: ShowPopupDialog,
    { mapId, item, popup: now, columns, object }: PopupNow,
  ): void {
    const { place, server, changes, map, rows, dialogs } = this.parts;
    const { code } = item.element;
    if (!isSame(place.mapId, mapId)) return;
    const pictures = new Pictures();
    let seen = now;
    const dialog = showPopupDialog(
      dialogs,
      {
        name: item.title,
        columns,
        object,
        popup: now,
        dataLanguage: server.readIn(mapId.project),
        files: {
          ...server.attachments(mapId, code, object?.id ?? 0, pictures),
          failed: () => dialogs.toasts.show(dialogs.locale.t("downloadFailed"), "bad"),
        },
      },
      async (popup) => {
        try {
          await changes.savePopup(mapId, item, seen, popup);
        } catch (error) {
          // Who saves once more does so for what others have made of it.
          if (error instanceof Conflict) seen = await changes.popup(mapId, item);
          throw error;
        }
        // It is saved, whether the tree can be read or not.
        await map.reload().catch((error: unknown) => dialogs.tell(error));
      },
    );
    dialog.addEventListener("close", () => {
      pictures.clear();
      // The row that it was opened from may be a new one.
      if (!document.querySelector("dialog[open]")) rows.focus(item.element.id);
      map.keepFocus();
    });
  }

  /** The columns of a layer, and the first of its objects. */
  private async example(mapId: MapId, layer: string) {
    const { server } = this.parts;
    const columns = await server.structure(mapId, layer);
    const { signal } = new AbortController();
    const [object] = await server.objects(mapId, { layer, columns }, { fields: "*", limit: 1 }, signal);
    return { columns, object };
  }
}
