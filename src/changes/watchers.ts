import type { Area, LayerVersion } from "./layer-version.js";

/** Those who want to hear of changes as they become known to this node, such as open maps. */
export interface Watcher {
  /** Ids of the layers that it watches. Those of one set cost no more than one of them. */
  readonly layers: ReadonlySet<number>;
  /** Their versions by id, which are kept up to date while they are held. */
  readonly held: ReadonlyMap<number, LayerVersion>;
  readonly projectId: number;
  readonly mapId: number;
  /** Objects of one of its layers changed. */
  layerChanged(id: number, area: Area): void;
  /** Its map or its project changed, or more than is known. */
  mapChanged(): void;
}

type Group = Set<Watcher>;

export class Watchers {
  private readonly all = new Set<Watcher>();
  /** Those that watch the same layers. */
  private readonly groups = new Map<ReadonlySet<number>, Group>();
  private readonly byLayer = new Map<number, Set<Group>>();

  get size(): number {
    return this.all.size;
  }

  /** @returns a function that ends it; a watcher whose layers change is added anew */
  add(watcher: Watcher): () => void {
    const { layers } = watcher;
    const group = this.groups.get(layers) ?? this.begin(layers);
    this.all.add(watcher);
    group.add(watcher);
    return () => {
      this.all.delete(watcher);
      if (group.delete(watcher) && group.size === 0) this.end(layers, group);
    };
  }

  private begin(layers: ReadonlySet<number>): Group {
    const group: Group = new Set();
    this.groups.set(layers, group);
    for (const id of layers) {
      const others = this.byLayer.get(id);
      if (others) others.add(group);
      else this.byLayer.set(id, new Set([group]));
    }
    return group;
  }

  private end(layers: ReadonlySet<number>, group: Group): void {
    this.groups.delete(layers);
    for (const id of layers) {
      const others = this.byLayer.get(id);
      others?.delete(group);
      if (others?.size === 0) this.byLayer.delete(id);
    }
  }

  layerChanged({ id }: LayerVersion, area: Area): void {
    for (const group of this.byLayer.get(id) ?? [])
      for (const watcher of group) watcher.layerChanged(id, area);
  }

  /** @param id undefined = any */
  mapChanged(id: number | undefined): void {
    for (const watcher of this.all) if (id === undefined || watcher.mapId === id) watcher.mapChanged();
  }

  /** @param id undefined = any */
  projectChanged(id: number | undefined): void {
    for (const watcher of this.all) if (id === undefined || watcher.projectId === id) watcher.mapChanged();
  }
}
