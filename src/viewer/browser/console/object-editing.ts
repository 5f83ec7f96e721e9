import { hasObjects, type LayerTree, type TreeItem } from "../layer-tree.js";
import type { Click } from "../objects.js";
import { loadStyles } from "./late-styles.js";
import type { ObjectsOf, ObjectsParts, ObjectsTool } from "./object-parts.js";

/** The objects of a layer, to be looked at and edited. What does it is loaded when it is first opened. */

/** Whether a layer has objects of its own. */
export const hasOwnObjects = (item: TreeItem): boolean => hasObjects(item) && item.element.type === "layer";

export class ObjectEditing {
  private tool: ObjectsTool | undefined;
  private layerId: number | undefined;
  /** Number of times that it was opened or closed, so that what is loaded too late is not shown. */
  private turn = 0;

  constructor(private readonly parts: ObjectsParts) {}

  async open(of: ObjectsOf): Promise<void> {
    const { locale, toasts } = this.parts;
    this.close();
    const { turn } = this;
    try {
      const styled = loadStyles("objects");
      const editor = await import("./objects/editor.js");
      await styled;
      if (turn !== this.turn) return;
      this.layerId = of.item.layerId;
      this.tool = editor.openObjects(this.parts, of, () => {
        this.tool = undefined;
        this.layerId = undefined;
      });
    } catch {
      if (turn === this.turn) toasts.show(locale.t("toolFailed"), "bad");
    }
  }

  get isOpen(): boolean {
    return this.tool !== undefined;
  }

  clicked(click: Click): void {
    this.tool?.clicked(click);
  }

  closeForm(): void {
    this.tool?.closeForm();
  }

  /** Objects of these layers were changed; undefined = of any. */
  changed(layers: readonly number[] | undefined): void {
    if (this.layerId !== undefined && layers?.includes(this.layerId) !== false) this.tool?.changed();
  }

  /** The map has these layers now. */
  renewed({ leaves }: LayerTree): void {
    if (this.layerId !== undefined && !leaves.some(({ layerId }) => layerId === this.layerId)) this.close();
  }

  close(): void {
    this.turn++;
    this.tool?.close();
  }
}
