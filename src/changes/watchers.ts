import type { Area, LayerVersion } from "./layer-version.js";

/** Those who want to hear of changes as they become known to this node, such as open maps. */
export interface Watcher {
  /** Ids of the layers that it watches. */
  readonly layers: ReadonlySet<number>;
  /** Their versions, which are kept up to date while they are held. */
  readonly held: readonly LayerVersion[];
  readonly projectId: number;
  readonly mapId: number;
  /** Objects of one of its layers changed. */
  layerChanged(id: number, area: Area): void;
  /** Its map or its project changed, or more than is known. */
  mapChanged(): void;
}

export class Watchers {
  private readonly all = new Set<Watcher>();
  private readonly byLayer = new Map<number, Set<Watcher>>();

  get size(): number {
    return this.all.size;
  }

  /** @returns a function that ends it; a watcher whose layers change is added anew */
  add(watcher: Watcher): () => void {
    this.all.add(watcher);
    for (const id of watcher.layers) {
      const others = this.byLayer.get(id);
      if (others) others.add(watcher);
      else this.byLayer.set(id, new Set([watcher]));
    }
    return () => {
      this.all.delete(watcher);
      for (const id of watcher.layers) {
        const others = this.byLayer.get(id);
        others?.delete(watcher);
        if (others?.size === 0) this.byLayer.delete(id);
      }
    };
  }

  layerChanged({ id }: LayerVersion, area: Area): void {
    for (const watcher of this.byLayer.get(id) ?? []) watcher.layerChanged(id, area);
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
