import type { TreeItem } from "../layer-tree.js";
import { type MapId, type MapServer, ServerError } from "../map-server.js";
import { type Edits, newKey } from "./edits.js";
import { publicationOf, type ReadersSee, readersSee, type Trees } from "./publication.js";
import type { TreePlace } from "./tree-editing.js";

/** What was deleted, as the bin lists it. */
interface BinEntry {
  readonly id: number;
  readonly kind: string;
  readonly code: string;
  /** Code of the map that it was in. */
  readonly map: string;
}

/** A layer or folder, as it is now. */
interface Node {
  readonly parent_id: number;
  readonly css_style?: string;
}

/** Changes of a map, its layers and folders. All throw ServerError. */
export class MapEdits {
  constructor(
    private readonly edits: Edits,
    private readonly server: MapServer,
  ) {}

  /** Without a parent it would go to the map's root, and the one that the page knows may be another one by now. */
  private async change(
    mapId: MapId,
    item: TreeItem,
    changeOf: (now: Node) => Readonly<Record<string, unknown>>,
  ) {
    const segments = [mapId.map, item.isFolder ? "folders" : "layers", item.element.code];
    const now = await this.edits.send<Node>(mapId.project, "GET", segments);
    const options = {
      body: { parent_id: now.parent_id, ...changeOf(now) },
      query: { lng: this.server.lng(mapId.project) },
    };
    return this.edits.send<{ readonly notices?: readonly string[] }>(
      mapId.project,
      "PATCH",
      segments,
      options,
    );
  }

  rename(mapId: MapId, item: TreeItem, name: string): Promise<unknown> {
    return this.change(mapId, item, () => ({ name }));
  }

  move(mapId: MapId, item: TreeItem, { parentId, sort }: TreePlace): Promise<unknown> {
    return this.change(mapId, item, () => ({ parent_id: parentId, sort }));
  }

  /** @returns what the server notes about the style @throws ServerError 412 when it is not the one that the item has */
  async style(mapId: MapId, item: TreeItem, css: string): Promise<readonly string[]> {
    const answer = await this.change(mapId, item, ({ css_style }) => {
      if ((css_style ?? "") !== (item.element.css_style ?? "")) throw new ServerError(412, undefined);
      return { css_style: css };
    });
    return answer.notices ?? [];
  }

  remove({ project, map }: MapId, { isFolder, element }: TreeItem): Promise<unknown> {
    return this.edits.send(project, "DELETE", [map, isFolder ? "folders" : "layers", element.code]);
  }

  /** Where what was deleted lies in the bin; undefined = it is not kept. @throws ServerError */
  async inBin({ project, map }: MapId, { isFolder, element }: TreeItem): Promise<number | undefined> {
    // Others delete things, too.
    const query = { limit: 20 };
    const { entries } = await this.edits.send<{ readonly entries: readonly BinEntry[] }>(
      project,
      "GET",
      ["bin"],
      { query },
    );
    const kind = isFolder ? "folder" : "layer";
    return entries.find((entry) => entry.kind === kind && entry.code === element.code && entry.map === map)
      ?.id;
  }

  restore({ project }: MapId, entry: number): Promise<unknown> {
    return this.edits.send(project, "POST", ["bin", String(entry), "restore"], { body: {}, key: newKey() });
  }

  changeMap(
    { project, map }: MapId,
    { isPublic, title }: { readonly isPublic?: boolean; readonly title?: string },
  ): Promise<unknown> {
    const body = {
      ...(isPublic !== undefined && { has_publication: isPublic }),
      ...(title !== undefined && { name: title }),
    };
    return this.edits.send(project, "PATCH", [map], { body, query: { lng: this.server.lng(project) } });
  }

  private trees(mapId: MapId): Promise<Trees> {
    return this.edits.inSession(mapId.project, async () => {
      const [all, published] = await Promise.all([
        this.server.allLayers(mapId),
        this.server.publishedLayers(mapId),
      ]);
      return { all, published };
    });
  }

  /** @param on ids of the layers that are on here */
  async readersSee(mapId: MapId, on: ReadonlySet<number>): Promise<ReadersSee> {
    return readersSee(await this.trees(mapId), on);
  }

  /** Publishes all layers and folders as they are here. @param on ids of the layers that are on */
  async savePublication(mapId: MapId, on: ReadonlySet<number>): Promise<void> {
    const body = publicationOf(await this.trees(mapId), on);
    await this.edits.send(mapId.project, "POST", [mapId.map, "publish"], { body });
  }
}
