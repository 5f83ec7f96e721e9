import type { TreeItem } from "../layer-tree.js";
import type { Translate } from "../texts.js";
import type { confirmed } from "./confirmed.js";

/** Named in the question; more are counted. */
const mostNamed = 10;

/** What is asked before layers and folders are deleted. @param items one at least */
export function removalQuestion(t: Translate, items: readonly TreeItem[]): Parameters<typeof confirmed>[1] {
  const action = t("delete");
  const n = items.length;
  const [first] = items;
  if (n === 1 && first) {
    const name = first.title;
    const text = t(first.isFolder ? "deleteFolderText" : "deleteLayerText", { name });
    return { title: t("deleteLayer", { name }), text, action };
  }
  const names = items.slice(0, mostNamed).map(({ title }) => title);
  const named = `${names.join(", ")}${n > mostNamed ? ", …" : "."}`;
  return { title: t("deleteSelected", { n }), text: `${named} ${t("deleteSelectedText")}`, action };
}
