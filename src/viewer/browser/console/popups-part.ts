import { button, h } from "../dom.js";
import type { TreeItem } from "../layer-tree.js";
import type { Translate } from "../texts.js";

/** The part of the dialog that leads to what readers see when they press an object. */
export function popupsPart(
  t: Translate,
  layers: readonly TreeItem[],
  open: (layer: TreeItem) => void,
): readonly HTMLElement[] {
  if (layers.length === 0) return [];
  const entries = layers.map((layer) =>
    h(
      "li",
      {},
      button({ class: "button" }, () => open(layer), layer.title),
    ),
  );
  return [
    h(
      "details",
      { class: "publish-embed publish-popups" },
      h("summary", {}, t("popups")),
      h("p", { class: "hint" }, t("popupsHint")),
      h("ul", {}, ...entries),
    ),
  ];
}
