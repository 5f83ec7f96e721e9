import type { StartView } from "../first-view.js";
import type { TreeElement, TreeItem } from "../layer-tree.js";
import type { MapId, MapServer } from "../map-server.js";
import { layersQuery } from "../paths.js";
import { allInBin, type BinEntry, type Deleted, inBin, restore } from "./bin.js";
import { Conflict, changeRead } from "./conflict.js";
import type { Edits } from "./edits.js";
import type { Read } from "./operations.js";
import { isSamePopup, type Popup, popupIn, withPopup } from "./popup/settings.js";
import { publicationOf, type ReadersSee, readersSee } from "./publication.js";
import type { TreePlace } from "./tree-moves.js";

/** A layer or folder, as it is now. */
type Node = Pick<TreeElement, "name" | "parent_id" | "css_style" | "json">;
/** A map. */
export interface MapNow {
  readonly name: string;
  readonly has_publication: boolean;
  /** What is seen at first; null = all of its data. */
  readonly start_view: StartView | null;
  /** Plain text about it. */
  readonly comment: string;
  /** What is drawn below it; null = the base map of its project. */
  readonly base_map: MapBase | null;
}
/** As the server names them. */
export type MapBase = "builtin" | "builtin-muted" | "builtin-dark" | "none";
/** What of it is changed. */
export interface MapChange {
  readonly isPublic?: boolean;
  readonly title?: string;
  readonly startView?: StartView | null;
  readonly description?: string;
  readonly base?: MapBase | null;
}
/** What readers see of a map, as somebody has looked at it. */
export interface Shown {
  readonly see: ReadersSee;
  /** The tree that is published. */
  readonly published: readonly TreeElement[];
}

/** What a map does not have is not in its answer. */
type AnsweredMap = Pick<MapNow, "name" | "has_publication"> & Partial<MapNow>;
const mapNow = (answered: AnsweredMap): MapNow => ({
  start_view: null,
  comment: "",
  base_map: null,
  ...answered,
});

/** What it is called. */
const titleOf = ({ name, code }: { readonly name?: string; readonly code: string }): string => name || code;
/** Of a publication: all that can be changed. */
const digestOf = (elements: readonly TreeElement[]): string =>
  JSON.stringify(
    elements.map(({ id, parent_id, map_layer_id, selected, icon }) => [
      id,
      parent_id,
      map_layer_id,
      selected,
      icon,
    ]),
  );

/**
 * Changes of a map, its layers and folders, each for the state that was read before it: what others change meanwhile stays.
 * All throw ServerError, and Conflict when somebody else has changed the same.
 */
export class MapEdits {
  constructor(
    private readonly edits: Edits,
    private readonly server: MapServer,
  ) {}

  rename(mapId: MapId, item: TreeItem, name: string): Promise<unknown> {
    return this.change(
      mapId,
      item,
      () => ({ name }),
      (now) => {
        if (now.name !== item.element.name && now.name !== name)
          throw new Conflict("conflictName", { name: titleOf({ ...item.element, name: now.name }) });
      },
    );
  }

  /** Copies a layer with its objects. @param named what the copy is called @returns the id of the copy */
  async duplicate(
    mapId: MapId,
    item: TreeItem,
    { name, key }: { readonly name: string; readonly key: string },
  ): Promise<number> {
    const { project } = mapId;
    const options = { query: { lng: this.server.lng(project) }, body: { name }, key };
    const segments = [...this.segmentsOf(mapId, item), "copy"];
    return (await this.edits.send<{ readonly id: number }>(project, "POST", segments, options)).id;
  }

  move(mapId: MapId, item: TreeItem, { parentId, sort }: TreePlace): Promise<unknown> {
    return this.change(
      mapId,
      item,
      () => ({ parent_id: parentId, sort }),
      (now) => {
        if (now.parent_id !== item.element.parent_id)
          throw new Conflict("conflictPlace", { name: item.title });
      },
    );
  }

  /** @returns what the server notes about the style */
  async style(mapId: MapId, item: TreeItem, css: string): Promise<readonly string[]> {
    const answer = await this.change(
      mapId,
      item,
      () => ({ css_style: css }),
      (now) => {
        if (now.css_style !== css && !hasStyleOf(now, item)) throw new Conflict("conflictStyle");
      },
    );
    return answer.notices ?? [];
  }

  /** What the popups of a layer show. */
  async popup(mapId: MapId, item: TreeItem): Promise<Popup> {
    return popupIn((await this.node(mapId, item, () => undefined)).value.json);
  }

  /** @param seen what the user has seen of it */
  savePopup(mapId: MapId, item: TreeItem, seen: Popup, popup: Popup): Promise<unknown> {
    const json = (now: Node) => ({ json: withPopup(now.json, popup) });
    return this.change(mapId, item, json, (now) => {
      const saved = popupIn(now.json);
      if (!isSamePopup(saved, seen) && !isSamePopup(saved, popup)) throw new Conflict("conflictPopup");
    });
  }

  remove(mapId: MapId, item: TreeItem): Promise<unknown> {
    const { project } = mapId;
    const segments = this.segmentsOf(mapId, item);
    const read = () =>
      this.node(mapId, item, (now) => {
        const isSame = now.name === item.element.name && (item.isFolder || hasStyleOf(now, item));
        if (!isSame) throw new Conflict("conflictDelete", { name: item.title });
      });
    return changeRead(read, (_now, match) => this.edits.send(project, "DELETE", segments, { match }));
  }

  /** @param seen the map as the user has seen it */
  async removeMap({ project, map }: MapId, seen: MapNow): Promise<unknown> {
    const read = async () => {
      const now = await this.map({ project, map });
      if (now.value.name !== seen.name) throw new Conflict("conflictDelete", { name: seen.name || map });
      return now;
    };
    return changeRead(read, (_now, match) => this.edits.send(project, "DELETE", [map], { match }));
  }

  /** A map, to be changed. */
  async map({ project, map }: MapId): Promise<Read<MapNow>> {
    const query = { lng: this.server.lng(project) };
    const { value, etag } = await this.edits.read<AnsweredMap>(project, [map], { query });
    return { value: mapNow(value), etag };
  }

  /** @param seen the map as the user has seen it @returns as it is then */
  changeMap(
    mapId: MapId,
    seen: MapNow,
    { isPublic, title, startView, description, base }: MapChange,
  ): Promise<MapNow> {
    const { project, map } = mapId;
    const body = {
      ...(isPublic !== undefined && { has_publication: isPublic }),
      ...(title !== undefined && { name: title }),
      ...(startView !== undefined && { start_view: startView }),
      ...(description !== undefined && { comment: description }),
      ...(base !== undefined && { base_map: base }),
    };
    const read = async () => {
      const now = await this.map(mapId);
      const { name, has_publication, start_view, comment, base_map } = now.value;
      if (title !== undefined && name !== seen.name && name !== title)
        throw new Conflict("conflictName", { name: name || map });
      if (isPublic !== undefined && has_publication !== seen.has_publication && has_publication !== isPublic)
        throw new Conflict("conflictPublic");
      const isOther = (view: StartView | null) => JSON.stringify(start_view) !== JSON.stringify(view);
      if (startView !== undefined && isOther(seen.start_view) && isOther(startView))
        throw new Conflict("conflictStart");
      if (description !== undefined && comment !== seen.comment && comment !== description)
        throw new Conflict("conflictDescription");
      if (base !== undefined && base_map !== seen.base_map && base_map !== base)
        throw new Conflict("conflictBase");
      return now;
    };
    const query = { lng: this.server.lng(project) };
    return changeRead(read, async (_now, match) =>
      mapNow(await this.edits.send<AnsweredMap>(project, "PATCH", [map], { body, query, match })),
    );
  }

  /** Where what was deleted lies in the bin, as far as it is kept. */
  inBin({ project, map }: MapId, items: readonly TreeItem[]): Promise<readonly BinEntry[]> {
    const deleted = items.map(
      ({ isFolder, element }): Deleted => ({ kind: isFolder ? "folder" : "layer", code: element.code, map }),
    );
    return allInBin(this.edits, project, deleted);
  }

  /** As `inBin`, of a map; undefined = it is not kept. */
  mapInBin({ project, map }: MapId): Promise<BinEntry | undefined> {
    return inBin(this.edits, project, { kind: "map", code: map, map });
  }

  restore({ project }: MapId, entry: BinEntry): Promise<unknown> {
    return restore(this.edits, project, entry);
  }

  /** @param on ids of the layers that are on here */
  async shown(mapId: MapId, on: ReadonlySet<number>): Promise<Shown> {
    const [all, published] = await Promise.all([this.tree(mapId, "full"), this.tree(mapId, "publish")]);
    const trees = { all: all.value, published: published.value };
    return { see: readersSee(trees, on), published: published.value };
  }

  /**
   * Publishes all layers and folders as they are here.
   * @param on ids of the layers that are on
   * @param seen what the user has seen of it
   */
  async savePublication(mapId: MapId, on: ReadonlySet<number>, seen: Shown): Promise<void> {
    const { project, map } = mapId;
    const read = async () => {
      const published = await this.tree(mapId, "publish");
      if (digestOf(published.value) !== digestOf(seen.published)) throw new Conflict("conflictShown");
      const all = await this.tree(mapId, "full");
      return {
        value: publicationOf({ all: all.value, published: published.value }, on),
        etag: published.etag,
      };
    };
    await changeRead(read, (body, match) =>
      this.edits.send(project, "POST", [map, "publish"], { body, match }),
    );
  }

  private tree({ project, map }: MapId, type: "full" | "publish"): Promise<Read<TreeElement[]>> {
    const query = { ...layersQuery(this.server.lng(project)), type };
    return this.edits.read(project, [map, "layers"], { query });
  }

  private change(
    mapId: MapId,
    item: TreeItem,
    changed: (now: Node) => Readonly<Record<string, unknown>>,
    check: (now: Node) => void,
  ): Promise<{ readonly notices?: readonly string[] }> {
    const { project } = mapId;
    const segments = this.segmentsOf(mapId, item);
    const query = { lng: this.server.lng(project) };
    return changeRead(
      () => this.node(mapId, item, check),
      (now, match) => {
        // Without a parent it would go to the map's root, and the one that the page knows may be another one by now.
        const body = { parent_id: now.parent_id, ...changed(now) };
        return this.edits.send(project, "PATCH", segments, { body, query, match });
      },
    );
  }

  /** An item as it is now. @param check throws when it is not as the user has seen it */
  private async node(mapId: MapId, item: TreeItem, check: (now: Node) => void): Promise<Read<Node>> {
    const { project } = mapId;
    const query = { lng: this.server.lng(project) };
    const read = await this.edits.read<Node>(project, this.segmentsOf(mapId, item), { query });
    // Folders by themselves have their names in all languages. What the tree shows is not older than the ETag.
    const tree = item.isFolder ? (await this.tree(mapId, "full")).value : undefined;
    const now = tree ? tree.find(({ id }) => id === item.element.id) : read.value;
    if (now) check(now);
    return { value: now ?? read.value, etag: read.etag };
  }

  private segmentsOf({ map }: MapId, { isFolder, element }: TreeItem): readonly string[] {
    return [map, isFolder ? "folders" : "layers", element.code];
  }
}

const hasStyleOf = ({ css_style }: Node, { element }: TreeItem): boolean =>
  (css_style ?? "") === (element.css_style ?? "");
