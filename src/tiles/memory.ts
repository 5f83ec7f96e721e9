import { LRUCache } from "lru-cache";
import type { Tile } from "./tile.js";

/** Memory of an entry besides its bytes: key, object, list node. */
const overheadBytes = 400;
/** Memory for tiles of one colour, some 1,000 of them. */
const solidBytes = 1024 ** 2;

/** Tiles in this node's memory, bounded in bytes. Tiles of one colour share their bytes. */
export class TileMemory {
  private readonly tiles: LRUCache<string, Tile>;
  private readonly solids = new LRUCache<string, Uint8Array>({
    maxSize: solidBytes,
    sizeCalculation: (bytes) => overheadBytes + bytes.length,
  });

  constructor(bytes: number) {
    this.tiles = new LRUCache({
      maxSize: Math.max(bytes, overheadBytes),
      sizeCalculation: (tile) => overheadBytes + (tile.solid === undefined ? tile.bytes.length : 0),
    });
  }

  get(key: string): Tile | undefined {
    return this.tiles.get(key);
  }

  /** Without taking it for used. */
  peek(key: string): Tile | undefined {
    return this.tiles.peek(key);
  }

  /** Stores the tile. @returns what is stored, which may share its bytes with other tiles */
  set(key: string, tile: Tile): Tile {
    const cached = tile.solid === undefined ? tile : { ...tile, bytes: this.shared(tile) };
    this.tiles.set(key, cached);
    return cached;
  }

  /** Bytes of a one-colour tile by its hash. */
  solid(hash: string): Uint8Array | undefined {
    return this.solids.get(hash);
  }

  clear(): void {
    this.tiles.clear();
  }

  counts(): { readonly tiles: number; readonly bytes: number } {
    return { tiles: this.tiles.size, bytes: this.tiles.calculatedSize };
  }

  private shared(tile: Tile): Uint8Array {
    const existing = this.solids.get(tile.hash);
    if (existing) return existing;
    this.solids.set(tile.hash, tile.bytes);
    return tile.bytes;
  }
}
