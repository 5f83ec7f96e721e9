import t from "tap";
import { fullTree, publicationTree, publishedSelection } from "../../src/catalog/publication.js";
import { selectionIn } from "../../src/catalog/selected.js";
import type { LayerNode, MapState, PublicationElement, TreeNode } from "../../src/catalog/state.js";
import { drawnLayers } from "../../src/tiles/selection.js";
import { randomNumbers } from "../support/random.js";

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
      : { ...common, type: "layer", renderType: 0, columns: [] }) as unknown as TreeNode | LayerNode;
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
/** Codes of what is selected, as a snapshot of the map has it. */
const switchedOn = (map: MapState) => {
  const selection = selectionIn(map.publication, (id) => map.nodes.get(id)?.parentId ?? null);
  return [...map.nodes.values()]
    .filter(({ id, selected }) => selection(id) ?? selected)
    .map(({ code }) => code);
};
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

t.test("a layer or folder is selected as its element is", async (t) => {
  const off = { selected: false };
  const on = (...elements: PublicationElement[]) => switchedOn(mapOf(items, elements));
  t.same(switchedOn(mapOf(items)), ["a", "F", "b", "FF", "c"], "by itself before there is a tree");
  t.same(on(), [], "what has no element is not shown");
  t.same(on(element(1, 1), element(2, 3, off), element(3, 6)), ["a", "d"]);
  t.same(on(element(1, 2, off), element(2, 3, { parentId: 1 })), ["b"], "whatever its parents are");
  t.same(on(element(1, 3, off), element(2, 3)), ["b"], "one of several elements is enough");
  t.same(on(element(1, 2)), ["F", "b", "FF", "c"], "a folder's element alone stands for what it holds");
  t.same(on(element(1, 2), element(2, 1, { parentId: 1 })), ["a", "F"]);
  t.same(on(element(1, 2), element(2, 4, off)), ["F", "b", "c"]);
  t.same(on(element(1, 2), element(2, 4), element(3, 1, { parentId: 2 })), ["a", "F", "b", "FF"]);
});

t.test("what tiles show by themselves is selected", async (t) => {
  const next = randomNumbers(7);
  const below = (end: number) => next() % end;
  const codes = items.map(({ code }) => code);
  let shown = 0;
  for (let round = 0; round < 300; round++) {
    const elements = Array.from({ length: below(7) }, (_, i) =>
      element(i + 1, 1 + below(items.length), { parentId: below(i + 1), selected: below(3) > 0 }),
    );
    const map = mapOf(items, elements);
    const selected = new Set(switchedOn(map));
    const layers = drawn(map);
    shown += layers.length;
    t.ok(
      layers.every((code) => selected.has(code)),
      JSON.stringify(elements),
    );
    if (elements.every((one) => one.selected))
      t.same(
        layers,
        codes.filter((code) => selected.has(code) && !code.startsWith("F")),
        JSON.stringify(elements),
      );
  }
  t.ok(shown > 100);
});
