/**
 * Where the bytes of attached files lie. A blob has a uuid as its key and never changes: it is there as a whole from the
 * moment its key can be found, until it is deleted. All nodes of an installation see the same blobs.
 */
export interface BlobStore {
  /**
   * Stores a new blob. When it returns, the bytes are there for good; when it throws, there is no such blob.
   * @param source path of a temporary file on this machine, which may be gone afterwards; or the bytes themselves, the
   *   next of which are asked for when those before are written
   * @param key that of a blob in another store, of which this one becomes a copy; default: a new one
   * @returns the key
   */
  put(source: string | AsyncIterable<Uint8Array>, key?: string): Promise<string>;

  /** Bytes of a blob. @throws BlobNotFound */
  size(key: string): Promise<number>;

  /**
   * The bytes of a blob in their order, in pieces of at most `maxChunkBytes`. Nothing is opened before the first piece is
   * asked for, no piece is read before it is asked for, and all is closed when the iterator ends or its `return` is
   * called. A blob that is deleted meanwhile comes whole or ends with an error, never short.
   * @throws BlobNotFound; an AbortError when `signal` aborts
   */
  read(key: string, options?: ReadOptions): AsyncGenerator<Uint8Array, void, undefined>;

  /** Deletes a blob; one that is gone already is fine. */
  delete(key: string): Promise<void>;

  /**
   * Puts a blob away: it is not found any more until it is put back. For blobs that a database referred to, of which an
   * older state may be restored. One that is gone already is fine.
   */
  setAside(key: string): Promise<void>;

  /** Puts a blob back that was set aside; one that was not is fine. It may lie aside, too, for a while. */
  putBack(key: string): Promise<void>;

  /** Deletes a blob that was set aside. */
  deleteAside(key: string): Promise<void>;

  /** Keys of blobs that were set aside at least so long ago, some thousand at a time. */
  aside(ageMs: number): AsyncGenerator<string[], void, undefined>;

  /**
   * Keys of blobs that are at least this old, some thousand at a time. Those that are stored or deleted meanwhile may be
   * among them or not.
   */
  olderThan(ageMs: number): AsyncGenerator<string[], void, undefined>;

  /**
   * Removes what was left by puts whose process ended before they did.
   * @param ageMs since the put has last written; longer than any put pauses
   */
  removeParts(ageMs: number): Promise<void>;

  /** Which installation the store belongs to: a uuid; undefined when nobody has said so. */
  mark(): Promise<string | undefined>;

  /** Says which, in place of what was said before. */
  setMark(installation: string): Promise<void>;

  /**
   * Calls `use` with the path of a file that holds the blob, for readers in other processes. The file must not be changed
   * and may be gone when `use` has ended. It may also be gone earlier when the blob is deleted meanwhile.
   * @returns what `use` returns
   * @throws BlobNotFound; what `use` throws
   */
  withLocalCopy<T>(key: string, use: (path: string) => Promise<T>): Promise<T>;
}

export interface ReadOptions {
  /** Only these bytes, counted from 0; both ends belong to them. What lies beyond the blob's end is left out. */
  readonly range?: { readonly first: number; readonly last: number } | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Which client reads, as far as several may: they share what there is of connections. */
  readonly reader?: string | undefined;
}

/** What a read holds in memory at a time. */
export const maxChunkBytes = 256 * 1024;

/** There is no blob of that key. */
export class BlobNotFound extends Error {
  constructor(
    readonly key: string,
    options?: ErrorOptions,
  ) {
    super(`There is no blob ${key}.`, options);
    this.name = "BlobNotFound";
  }
}

const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether the text is a uuid as we write them, and so may be the key of a blob. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);
