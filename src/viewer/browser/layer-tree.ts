/** The layers of a map as the viewer shows them, and which of them are on. Does not depend on the DOM. */

/** [latitude, longitude] */
export type Corner = readonly [number, number];
export interface Box {
  readonly sw: Corner;
  readonly ne: Corner;
}

/** An element of the layer tree in the API's response. */
export interface TreeElement {
  readonly id: number;
  readonly type: string;
  readonly code: string;
  readonly name: string;
  readonly sort: number;
  readonly parent_id: number;
  readonly selected: boolean;
  /** Id of the layer, when `id` is that of the tree element. */
  readonly map_layer_id?: number;
  readonly css_style?: string;
  /** Settings of a visualization that is drawn in place of the style; absent or null = there is none. */
  readonly visualSettings?: { readonly type: number } | null;
  /** As `visualSettings`, of a plug-in. */
  readonly visualCustomSettings?: { readonly type: string } | null;
  /** The address of its icon. */
  readonly icon?: string;
  readonly bbox?: Box | null;
  readonly json?: Readonly<Record<string, unknown>> | null;
  /** 1 = the whole map, whose layers are grouped. */
  readonly group_layers?: number;
}

export interface TreeItem {
  readonly element: TreeElement;
  readonly layerId: number;
  readonly title: string;
  readonly isFolder: boolean;
  /** Top of the tree first. */
  readonly children: readonly TreeItem[];
}

/** How many of the layers under an item are on. */
export type Shown = "all" | "some" | "none";

/** Types of layers whose objects can be listed. */
const queryableTypes: ReadonlySet<string> = new Set(["layer", "virtual", "material"]);

export const hasObjects = ({ element }: TreeItem): boolean => queryableTypes.has(element.type);

/** Whether it stands for the whole map: then objects are found in it, which have layers that the tree does not show. */
export const isWholeMap = ({ element }: TreeItem): boolean => element.group_layers === 1;

/** A layer whose objects are found, but which the tree of the map does not show. */
export const unlisted = (code: string, title: string): TreeItem => ({
  element: { id: 0, type: "layer", code, name: title, sort: 0, parent_id: 0, selected: false },
  layerId: 0,
  title,
  isFolder: false,
  children: [],
});

export class LayerTree {
  readonly roots: readonly TreeItem[];
  /** All layers, without folders, the top one first. */
  readonly leaves: readonly TreeItem[];
  private readonly on: Set<number>;
  private readonly defaultOn: ReadonlySet<number>;

  /** @param shown ids of the layers that are on; undefined = the defaults of the map */
  constructor(
    readonly elements: readonly TreeElement[],
    shown?: readonly number[],
  ) {
    const known = new Set(elements.map((element) => element.id));
    const byParent = new Map<number, TreeElement[]>();
    for (const element of elements) {
      const parent = known.has(element.parent_id) ? element.parent_id : 0;
      const siblings = byParent.get(parent) ?? [];
      byParent.set(parent, siblings);
      siblings.push(element);
    }
    const leaves: TreeItem[] = [];
    const defaultOn = new Set<number>();
    const build = (parent: number, parentsSelected: boolean): TreeItem[] =>
      (byParent.get(parent) ?? [])
        .sort((a, b) => a.sort - b.sort || a.id - b.id)
        .map((element) => {
          const selected = parentsSelected && element.selected;
          const isFolder = element.type === "folder";
          const item: TreeItem = {
            element,
            layerId: element.map_layer_id ?? element.id,
            title: element.name || element.code,
            isFolder,
            children: isFolder ? build(element.id, selected) : [],
          };
          if (!isFolder) {
            leaves.push(item);
            if (selected) defaultOn.add(item.layerId);
          }
          return item;
        });
    this.roots = build(0, true);
    this.leaves = leaves;
    this.defaultOn = defaultOn;
    const layerIds = new Set(leaves.map((leaf) => leaf.layerId));
    this.on = new Set(shown ? shown.filter((id) => layerIds.has(id)) : defaultOn);
  }

  /** Layers that are on, the top one first. */
  get visible(): readonly TreeItem[] {
    return this.leaves.filter((leaf) => this.on.has(leaf.layerId));
  }

  /** Layers that are on and in which objects may be found, the top one first. */
  get queryable(): readonly TreeItem[] {
    return this.visible.filter((leaf) => hasObjects(leaf) || isWholeMap(leaf));
  }

  /** The layer with objects of that code, or the whole map when its layers are grouped. */
  layerOf(code: string): TreeItem | undefined {
    return this.leaves.find((leaf) => leaf.element.code === code || isWholeMap(leaf));
  }

  /** Ids of the layers that are on, ascending; undefined when they are the defaults of the map. */
  get selection(): readonly number[] | undefined {
    if (this.on.size === this.defaultOn.size && [...this.on].every((id) => this.defaultOn.has(id))) {
      return undefined;
    }
    return [...this.on].sort((a, b) => a - b);
  }

  shown(item: TreeItem): Shown {
    const leaves = leavesOf(item);
    const on = leaves.filter((leaf) => this.on.has(leaf.layerId)).length;
    return on === 0 ? "none" : on === leaves.length ? "all" : "some";
  }

  /** Switches a layer, or everything under a folder. */
  set(item: TreeItem, on: boolean): void {
    for (const leaf of leavesOf(item)) {
      if (on) this.on.add(leaf.layerId);
      else this.on.delete(leaf.layerId);
    }
  }

  /** Restores the defaults of the map. */
  reset(): void {
    this.on.clear();
    for (const id of this.defaultOn) this.on.add(id);
  }

  /** Bounding box of the items (by default of all layers); undefined when none has one. */
  extent(items: readonly TreeItem[] = this.leaves): Box | undefined {
    const boxes = items.flatMap(leavesOf).flatMap(({ element }) => element.bbox ?? []);
    const plain = union(boxes);
    // What lies on both sides of 180° is closer together there than across Greenwich.
    const across = union(boxes.map((box) => (box.sw[1] + box.ne[1] < 0 ? eastward(box) : box)));
    return plain && across && widthOf(across) < widthOf(plain) ? across : plain;
  }
}

const widthOf = ({ sw, ne }: Box): number => ne[1] - sw[1];
const eastward = ({ sw, ne }: Box): Box => ({ sw: [sw[0], sw[1] + 360], ne: [ne[0], ne[1] + 360] });

function union(boxes: readonly Box[]): Box | undefined {
  let box: Box | undefined;
  for (const next of boxes)
    box = box
      ? {
          sw: [Math.min(box.sw[0], next.sw[0]), Math.min(box.sw[1], next.sw[1])],
          ne: [Math.max(box.ne[0], next.ne[0]), Math.max(box.ne[1], next.ne[1])],
        }
      : next;
  return box;
}

function leavesOf(item: TreeItem): readonly TreeItem[] {
  return item.isFolder ? item.children.flatMap(leavesOf) : [item];
}
