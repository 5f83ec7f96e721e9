import type { Clock } from "../clock.js";
import { BatchedReads } from "../storage/batched-reads.js";
import { type CachedValue, readTogether, storeTogether } from "../storage/redis/together.js";
import type { Redis } from "../storage/redis.js";
import type { TileMemory } from "./memory.js";
import type { Tile } from "./tile.js";

/**
 * Tiles in Redis, shared by all nodes. Each has its versions, so that its freshness is checked like that of tiles in
 * memory. If Redis fails, that is a miss, never an error.
 *
 * Value: magic byte, flags, count of layers in two bytes, 20 bytes of hash, the versions as doubles, then the encoded tile. A tile
 * of one colour holds that colour instead, and its bytes are stored once under their hash.
 */

/** What the keys of all tiles begin with, of every version, after the prefix of the installation. */
export const tileKeys = "t:";
/** To be raised when keys or values change their form, so that no node misreads what another version wrote. */
const version = 2;
/** Keys of one MGET: with tiles of usual size its answer stays under a few megabytes. */
const maxKeys = 64;
const magic = 0x4d;
const headBytes = 4 + 20;
const solidFlag = 1;
/** The tile expires; when, is known to Redis only, since nodes have no clock in common. */
const expiresFlag = 2;
const packedFlag = 4;

export class TileStore {
  /** A command for each tile would cost a system call that wakes Redis, more than all else that is done for the tile. */
  private readonly reads: BatchedReads<string, Buffer | null>;
  private readonly tilePrefix: string;
  private readonly solidPrefix: string;
  private readonly lockPrefix: string;

  constructor(
    private readonly redis: Redis,
    prefix: string,
    private readonly seconds: number,
    private readonly memory: TileMemory,
    private readonly clock: Clock,
  ) {
    this.reads = new BatchedReads({
      read: (keys) => readTogether(redis, keys),
      maxKeys,
      turn: () => clock.turn(),
    });
    this.tilePrefix = `${prefix}${tileKeys}${version}:`;
    this.solidPrefix = `${this.tilePrefix}solid:`;
    this.lockPrefix = `${prefix}lock:`;
  }

  async get(key: string): Promise<Tile | undefined> {
    if (this.seconds === 0) return undefined;
    try {
      const name = `${this.tilePrefix}${key}`;
      const value = await this.reads.get(name);
      return value ? await this.decode(name, value) : undefined;
    } catch {
      return undefined;
    }
  }

  /** Stores tiles in one round trip, in the background. */
  put(tiles: readonly (readonly [key: string, tile: Tile])[]): void {
    if (this.seconds === 0 || this.redis.status !== "ready") return;
    if (tiles.length === 1 && tiles[0]![1].solid === undefined) {
      this.putOne(...tiles[0]!);
      return;
    }
    const values: CachedValue[] = [];
    const solids = new Set<string>();
    for (const [key, tile] of tiles) {
      const seconds = this.secondsFor(tile);
      if (seconds < 1) continue;
      values.push({ key: `${this.tilePrefix}${key}`, value: encode(tile), seconds });
      if (tile.solid !== undefined && !solids.has(tile.hash)) {
        solids.add(tile.hash);
        const value = Buffer.from(tile.bytes);
        values.push({ key: `${this.solidPrefix}${tile.hash}`, value, seconds: this.seconds });
      }
    }
    storeTogether(this.redis, values).catch(() => undefined);
  }

  /** A pipeline of one command costs twice as much as the command. */
  private putOne(key: string, tile: Tile): void {
    const seconds = this.secondsFor(tile);
    if (seconds < 1) return;
    this.redis.set(`${this.tilePrefix}${key}`, encode(tile), "EX", seconds).catch(() => undefined);
  }

  /** Takes the lock on rendering `key` among all nodes; undefined = another node has it. Without Redis it is always taken. */
  async lock(key: string, milliseconds: number): Promise<(() => void) | undefined> {
    const name = `${this.lockPrefix}${key}`;
    const owner = `${process.pid}.${Math.random()}`;
    try {
      if ((await this.redis.set(name, owner, "PX", milliseconds, "NX")) === null) return undefined;
    } catch {
      return () => undefined;
    }
    return () => {
      this.redis
        .eval(
          "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end",
          1,
          name,
          owner,
        )
        .catch(() => undefined);
    };
  }

  /** By this node's clock; in the past when it has expired meanwhile. */
  private async expiryOf(name: string): Promise<number> {
    const asked = this.clock.now();
    return asked + (await this.redis.pttl(name));
  }

  private secondsFor({ expiresAt }: Tile): number {
    if (expiresAt === undefined) return this.seconds;
    return Math.min(this.seconds, Math.floor((expiresAt - this.clock.now()) / 1_000));
  }

  private async decode(name: string, value: Buffer): Promise<Tile | undefined> {
    if (value.length < headBytes || value[0] !== magic) return undefined;
    const isSolid = (value[1]! & solidFlag) !== 0;
    const count = value.readUInt16LE(2);
    const hash = value.toString("latin1", 4, headBytes);
    const versions: number[] = [];
    for (let index = 0; index < count; index++) versions.push(value.readDoubleLE(headBytes + 8 * index));
    const body = headBytes + 8 * count;
    const lifetime = (value[1]! & expiresFlag) === 0 ? {} : { expiresAt: await this.expiryOf(name) };
    const packed = (value[1]! & packedFlag) === 0 ? {} : { isPacked: true };
    if (!isSolid) {
      // A copy: what arrives is a view of a larger chunk of the socket, which would stay in memory.
      return {
        bytes: new Uint8Array(value.subarray(body)),
        hash,
        solid: undefined,
        versions,
        ...lifetime,
        ...packed,
      };
    }
    const solid = value.readUInt32LE(body);
    const bytes = this.memory.solid(hash) ?? (await this.reads.get(`${this.solidPrefix}${hash}`));
    return bytes ? { bytes: new Uint8Array(bytes), hash, solid, versions, ...lifetime } : undefined;
  }
}

function encode(tile: Tile): Buffer {
  const isSolid = tile.solid !== undefined;
  const value = Buffer.allocUnsafe(headBytes + 8 * tile.versions.length + (isSolid ? 4 : tile.bytes.length));
  value[0] = magic;
  value[1] =
    (isSolid ? solidFlag : 0) |
    (tile.expiresAt === undefined ? 0 : expiresFlag) |
    (tile.isPacked ? packedFlag : 0);
  value.writeUInt16LE(tile.versions.length, 2);
  value.write(tile.hash.padEnd(20).slice(0, 20), 4, "latin1");
  let at = headBytes;
  for (const version of tile.versions) at = value.writeDoubleLE(version, at);
  if (isSolid) value.writeUInt32LE(tile.solid! >>> 0, at);
  else value.set(tile.bytes, at);
  return value;
}
