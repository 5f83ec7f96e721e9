import { LRUCache } from "lru-cache";
import type { Tile } from "./tile.js";

/** Memory of an entry besides its bytes: key, object, list node. */
const overheadBytes = 400;
/** Memory of an array of versions besides them. */
const arrayBytes = 32;
/** Memory for tiles of one colour, some 1,000 of them. */
const solidBytes = 1024 ** 2;

/**
 * Tiles in this node's memory, bounded in bytes. Tiles of one colour share their bytes, and tiles share the versions of their
 * layers, which are counted once.
 */
export class TileMemory {
  private readonly tiles: LRUCache<string, Tile>;
  /** How many of the tiles have these versions. */
  private readonly holders = new Map<readonly number[], number>();
  private readonly held = new WeakSet<Tile>();
  private versionBytes = 0;
  private readonly solids = new LRUCache<string, Uint8Array>({
    maxSize: solidBytes,
    sizeCalculation: (bytes) => overheadBytes + bytes.length,
  });

  constructor(private readonly bytes: number) {
    this.tiles = new LRUCache({
      maxSize: Math.max(bytes, overheadBytes),
      sizeCalculation: (tile) => overheadBytes + (tile.solid === undefined ? tile.bytes.length : 0),
      dispose: (tile) => {
        if (this.held.delete(tile)) this.release(tile.versions);
      },
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
    // The cache does not take a tile that is too large.
    if (this.tiles.peek(key) === cached && !this.held.has(cached)) {
      this.held.add(cached);
      this.hold(cached.versions);
      this.makeRoom();
    }
    return cached;
  }

  /** Gives a tile, in memory or not, later versions of its layers. */
  raise(tile: Tile, versions: readonly number[]): void {
    if (tile.versions === versions) return;
    const isHeld = this.held.has(tile);
    if (isHeld) this.release(tile.versions);
    tile.versions = versions;
    if (isHeld) this.hold(versions);
  }

  /** Bytes of a one-colour tile by its hash. */
  solid(hash: string): Uint8Array | undefined {
    return this.solids.get(hash);
  }

  clear(): void {
    this.tiles.clear();
  }

  counts(): { readonly tiles: number; readonly bytes: number } {
    return { tiles: this.tiles.size, bytes: this.tiles.calculatedSize + this.versionBytes };
  }

  private hold(versions: readonly number[]): void {
    const holders = this.holders.get(versions) ?? 0;
    this.holders.set(versions, holders + 1);
    if (holders === 0) this.versionBytes += arrayBytes + 8 * versions.length;
  }

  private release(versions: readonly number[]): void {
    const holders = this.holders.get(versions)! - 1;
    if (holders > 0) this.holders.set(versions, holders);
    else {
      this.holders.delete(versions);
      this.versionBytes -= arrayBytes + 8 * versions.length;
    }
  }

  private makeRoom(): void {
    while (this.tiles.size > 0 && this.tiles.calculatedSize + this.versionBytes > this.bytes)
      this.tiles.pop();
  }

  private shared(tile: Tile): Uint8Array {
    const existing = this.solids.get(tile.hash);
    if (existing) return existing;
    this.solids.set(tile.hash, tile.bytes);
    return tile.bytes;
  }
}
