import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { allOrNone } from "../all-or-none.js";
import { busy, failed } from "../errors.js";
import type { TileCoord } from "../geo/tile.js";
import { encodeRecords, type TileRecord } from "../hosts/tile-index.js";
import type { Tile } from "../tiles/tile.js";

/** Drawn tiles on the disk, each content once: a file of contents, and an index of where each tile's lies. */

export interface SpooledTiles {
  readonly contents: string;
  readonly index: string;
  /** Contents and their bytes. */
  readonly count: number;
  readonly bytes: number;
  /** Of which several may have the same content. */
  readonly tiles: number;
}

export interface DrawnAt {
  readonly coord: TileCoord;
  readonly tile: Tile;
}

/** Contents that are recognised. Those that repeat are mostly of one colour, and come again before they are forgotten. */
const knownContents = 20_000;
/** How much is written between two looks at the room that is left. */
const batchBytes = 4 * 1024 ** 2;

export interface SpoolLimits {
  /** Of the contents. */
  readonly maxBytes: number;
  /** @throws Failure busy when there is no room for more */
  readonly checkRoom: () => Promise<void>;
}

export class TileSpool {
  private readonly known = new LRUCache<string, Pick<TileRecord, "offset" | "length">>({
    max: knownContents,
  });
  private tiles = 0;
  private count = 0;
  private bytes = 0;
  private checkedBytes = 0;
  /** An empty tile, in case that there are no others. */
  private empty: DrawnAt | undefined;

  private constructor(
    private readonly folder: string,
    private readonly limits: SpoolLimits,
    private readonly contents: FileHandle,
    private readonly index: FileHandle,
  ) {}

  /** Creates the files in an empty folder. */
  static async create(folder: string, limits: SpoolLimits): Promise<TileSpool> {
    const [contents, index] = await allOrNone(
      [contentsOf(folder), indexOf(folder)].map((path) => open(path, "wx", 0o600)),
      (file) => file.close(),
    );
    return new TileSpool(folder, limits, contents!, index!);
  }

  /** Adds tiles; those where nothing is drawn are left out. @throws Failure invalid_value (too large), busy (disk full) */
  async add(drawn: readonly DrawnAt[]): Promise<void> {
    for (const one of drawn) if (isEmpty(one.tile)) this.empty ??= one;
    await this.write(drawn.filter(({ tile }) => !isEmpty(tile)));
  }

  /** Completes the files. They have one tile at least: an empty one if all are. */
  async finish(): Promise<SpooledTiles> {
    if (this.tiles === 0 && this.empty) await this.write([this.empty]);
    await this.close();
    const { folder, count, bytes, tiles } = this;
    return { contents: contentsOf(folder), index: indexOf(folder), count, bytes, tiles };
  }

  /** May be called several times. */
  async close(): Promise<void> {
    await Promise.all([this.contents.close(), this.index.close()]);
  }

  private async write(drawn: readonly DrawnAt[]): Promise<void> {
    if (drawn.length === 0) return;
    const added: Uint8Array[] = [];
    const records = drawn.map(({ coord, tile }): TileRecord => {
      let place = this.known.get(tile.hash);
      if (!place) {
        place = { offset: this.bytes, length: tile.bytes.length };
        this.known.set(tile.hash, place);
        added.push(tile.bytes);
        this.bytes += tile.bytes.length;
        this.count++;
      }
      return { ...coord, ...place };
    });
    this.tiles += drawn.length;
    await this.checkLimits();
    try {
      if (added.length > 0) await this.contents.appendFile(Buffer.concat(added));
      await this.index.appendFile(encodeRecords(records));
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === "ENOSPC" ? noRoom() : error;
    }
  }

  private async checkLimits(): Promise<void> {
    const { maxBytes, checkRoom } = this.limits;
    if (this.bytes > maxBytes)
      throw failed("invalid_value", `The file would be larger than ${maxBytes} bytes. Choose fewer tiles.`);
    if (this.bytes - this.checkedBytes < batchBytes) return;
    this.checkedBytes = this.bytes;
    await checkRoom();
  }
}

const contentsOf = (folder: string): string => join(folder, "tiles.contents");
const indexOf = (folder: string): string => join(folder, "tiles.index");

export const noRoom = () => busy("There is no room for exported files now.");

/** Whether it is transparent all over. */
const isEmpty = ({ solid }: Tile): boolean => solid !== undefined && solid >>> 24 === 0;
