import type { TreeItem } from "../layer-tree.js";
import type { MapId } from "../map-server.js";
import type { MenuAction } from "../popup-menu.js";
import type { Dialogs } from "./dialogs.js";
import { type CopiedStyle, hasStyle, type Pasted, type StyleCopies } from "./style-copies.js";
import { layersIn } from "./tree-moves.js";
import { withEachTold } from "./with-each.js";

/** What the menus of layers offer to give one the look of another. */

export interface StyleActionsParts {
  readonly copies: StyleCopies;
  readonly dialogs: Dialogs;
  /** Changes a map in its turn, and tells what goes wrong. @param again offered when somebody else has changed the same */
  readonly edit: (map: MapId, change: () => Promise<unknown>, again?: () => void) => Promise<unknown>;
  /** An item as the tree has it now. */
  readonly now: (item: TreeItem) => TreeItem;
}

/** Of several layers; more are not read. */
const mostNotes = 3;

export class StyleActions {
  constructor(private readonly parts: StyleActionsParts) {}

  /** @returns false = it has no style that others can have */
  copying(map: MapId, item: TreeItem): MenuAction | false {
    const { t } = this.parts.dialogs.locale;
    const press = () => void this.copy(map, item);
    return hasStyle(item) && { icon: "copy", label: t("copyStyle"), press };
  }

  /** @param items of several, those in folders, too @returns false = there is nothing to paste, or nothing that can have it */
  pasting(map: MapId, items: readonly TreeItem[]): MenuAction | false {
    const { copies, dialogs } = this.parts;
    const { copied } = copies;
    const all = items.length > 1 ? layersIn(items) : items;
    const given = all.filter((item) => copies.fits(item));
    if (!copied || given.length === 0) return false;
    const press = () => void this.paste(map, given, copied);
    return { icon: "paste", label: dialogs.locale.t("pasteStyle"), press };
  }

  private async copy(map: MapId, item: TreeItem): Promise<void> {
    const { copies, dialogs } = this.parts;
    try {
      await copies.copy(map, item);
      dialogs.toasts.show(dialogs.locale.t("styleCopied", { name: item.title }), "good");
    } catch (error) {
      dialogs.tell(error);
    }
  }

  /** Gives layers a style, with a way back. */
  private async paste(map: MapId, items: readonly TreeItem[], style: CopiedStyle): Promise<void> {
    const { copies, dialogs, edit, now } = this.parts;
    const { t } = dialogs.locale;
    const pasted: Pasted[] = [];
    const overtaken: TreeItem[] = [];
    const paste = async (item: TreeItem) => {
      pasted.push(await copies.paste(map, item, style));
    };
    const again = () => void this.paste(map, overtaken.map(now), style);
    await edit(map, () => withEachTold(dialogs, items, paste, overtaken), again);
    if (pasted.length === 0) return;
    const names = { n: pasted.length, name: pasted[0]!.item.title, from: style.of.title };
    const notes = [...new Set(pasted.flatMap((one) => one.notes))];
    const told = [
      t("stylePasted", names),
      ...notes.slice(0, mostNotes),
      ...(notes.length > mostNotes ? ["…"] : []),
    ];
    const undo = () => void edit(map, () => withEachTold(dialogs, pasted, (one) => one.undo()));
    dialogs.toasts.offerUndo(told.join(" "), undo);
  }
}
