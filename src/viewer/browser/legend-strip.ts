import { h } from "./dom.js";
import type { LayerTree, TreeItem } from "./layer-tree.js";

/** What the colours of a map by values mean, in short. On phones it is beside the map while the layers are folded away. */

/** More classes have no room beside each other. */
const mostClasses = 7;

export class LegendStrip {
  /** Its whole legend is in the panel, where screen readers find it. */
  readonly element = h("ul", { class: "legend-strip", "aria-hidden": "true", hidden: true });
  private turn = 0;

  /**
   * @param legendOf the legend of a layer, when it is loaded; undefined = it has none
   * @param pressed shows all of it
   */
  constructor(
    private readonly legendOf: (item: TreeItem) => Promise<HTMLElement | undefined>,
    pressed: () => void,
  ) {
    this.element.addEventListener("click", pressed);
  }

  /** Shows the legend of the topmost layer that is drawn by its values. */
  async show(tree: LayerTree | undefined): Promise<void> {
    const turn = ++this.turn;
    const item = tree?.visible.find(({ element }) => element.visualSettings);
    const legend = item && (await this.legendOf(item));
    if (turn !== this.turn) return;
    const classes = legend?.querySelectorAll(".legend-class:not([hidden])").length ?? 0;
    const fits = classes > 0 && classes <= mostClasses && !legend?.querySelector(".legend-bubbles");
    this.element.hidden = !fits;
    this.element.replaceChildren(...(fits && legend ? [...legend.cloneNode(true).childNodes] : []));
  }
}
