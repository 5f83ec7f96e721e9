import t from "tap";
import { fullTree, publicationTree, publishedSelection } from "../../src/catalog/publication.js";
import type { LayerNode, MapState, PublicationElement, TreeNode } from "../../src/catalog/state.js";
import { drawnLayers } from "../../src/tiles/selection.js";

/** Trees of folders (F…) and layers, with the ids in the order of the list. */
interface Item {
  readonly code: string;
  readonly in?: string;
  readonly selected?: boolean;
}

function mapOf(items: readonly Item[], publication: readonly PublicationElement[] | null = null): MapState {
  const ids = new Map(items.map((item, i) => [item.code, i + 1]));
  const nodes = new Map<number, TreeNode | LayerNode>();
  const children = new Map<number, (TreeNode | LayerNode)[]>();
  for (const { code, in: parent, selected = true } of items) {
    const common = { id: ids.get(code)!, code, parentId: parent ? ids.get(parent)! : null, selected };
    const node = (code.startsWith("F")
      ? { ...common, type: "folder" }
      : { ...common, type: "layer", columns: [] }) as unknown as TreeNode | LayerNode;
    nodes.set(node.id, node);
    children.set(node.parentId ?? 0, [...(children.get(node.parentId ?? 0) ?? []), node]);
  }
  return { nodes, children, publication } as unknown as MapState;
}

const element = (id: number, nodeId: number, more: Partial<PublicationElement> = {}): PublicationElement => ({
  id,
  nodeId,
  parentId: 0,
  sort: id,
  selected: true,
  icon: "",
  ...more,
});
const everything = () => true;
const all = (map: MapState, readable: (layer: LayerNode) => boolean = everything) =>
  fullTree(map, readable).map(({ node }) => node.code);
const published = (map: MapState, readable: (layer: LayerNode) => boolean = everything) =>
  publicationTree(map, map.publication!, readable).map((shown) => `${shown.element!.id}${shown.node.code}`);
const selected = (map: MapState) =>
  [...publishedSelection(map, map.publication!)].map((id) => map.nodes.get(id)!.code);
const drawn = (map: MapState, ids?: number[]) => drawnLayers(map, ids, everything).map((layer) => layer.code);

const items: Item[] = [
  { code: "a" },
  { code: "F" },
  { code: "b", in: "F" },
  { code: "FF", in: "F" },
  { code: "c", in: "FF" },
  { code: "d", in: "FF", selected: false },
];

t.test("the full tree has each folder before what it holds", async (t) => {
  t.same(all(mapOf(items)), ["a", "F", "b", "FF", "c", "d"]);
});

t.test("a folder is left out when nothing in it may be read", async (t) => {
  const map = mapOf([...items, { code: "Fempty" }, { code: "Finner", in: "F" }]);
  t.same(
    all(map, (layer) => layer.code === "a"),
    ["a", "Fempty"],
  );
  t.same(
    all(map, (layer) => layer.code === "b"),
    ["F", "b", "Finner", "Fempty"],
  );
  t.same(
    all(map, () => false),
    ["Fempty"],
  );
});

t.test("the publication tree is in its own order", async (t) => {
  const map = mapOf(items, [element(9, 1), element(4, 5, { parentId: 5 }), element(5, 2, { sort: 4 })]);
  t.same(published(map), ["5F", "4c", "9a"]);
  t.same(selected(map), ["c", "a"]);
  t.same(drawn(map), ["a", "c"], "tiles are drawn in the order of the map's tree");
});

t.test("elements in a circle and elements of nothing are not shown", async (t) => {
  const map = mapOf(items, [
    element(1, 2, { parentId: 2 }),
    element(2, 3, { parentId: 1 }),
    element(3, 3, { parentId: 3 }),
    element(4, 99),
    element(5, 3, { parentId: 4 }),
    element(6, 1),
  ]);
  t.same(published(map), ["6a"]);
  t.same(drawn(map), ["a"]);
});

t.test("a folder's element alone stands for what the folder holds and selects", async (t) => {
  t.same(drawn(mapOf(items, [element(1, 2)])), ["b", "c"]);
  t.same(drawn(mapOf(items, [element(1, 2, { selected: false })])), []);
  t.same(drawn(mapOf(items, [element(1, 2), element(2, 6, { parentId: 1 })])), ["d"], "with elements, those");
  t.same(drawn(mapOf(items, [element(1, 2), element(2, 5, { selected: false })])), ["b"]);
  const hidden = mapOf(items, [element(1, 2)]);
  t.same(
    published(hidden, () => false),
    [],
  );
});

t.test("layers that are named are drawn whatever is published", async (t) => {
  const map = mapOf(items, [element(1, 1)]);
  t.same(drawn(map), ["a"]);
  t.same(drawn(map, [4, 99]), ["c", "d"]);
  t.same(drawn(mapOf(items, [])), []);
});
