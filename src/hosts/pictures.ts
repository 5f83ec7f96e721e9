import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { badRequest, failed } from "../errors.js";
import { InFlight } from "../queues/in-flight.js";
import { BlobNotFound, type BlobStore } from "../storage/blob-store.js";
import { blameFile, type ImageHost, type ImageUser } from "./image.js";
import type { DrawRequest, PictureFormat, ResizeOptions, ResizeResponse, SymbolRequest } from "./messages.js";
import type { PictureFiles } from "./picture-files.js";
import type { RenderHost } from "./render.js";

/**
 * Images made by the image host, kept in memory up to a number of bytes, and those made of blobs on disk too. Concurrent
 * requests for one image share the work, which is the first one's among clients; what waits is dropped when all have left.
 */

export interface Picture {
  readonly bytes: Uint8Array;
  readonly format: PictureFormat;
}

/** An image of a blob in another size or format. */
export interface ResizedBlob extends ResizeOptions {
  /** Key of the blob. */
  readonly blob: string;
}

/** Memory of an entry besides its bytes: key, object, list node. */
const overheadBytes = 400;

export interface PictureSources {
  readonly host: ImageHost;
  readonly render: Pick<RenderHost, "call">;
  /** Of a symbol. */
  readonly deadlineMs: number;
  readonly blobs: BlobStore;
  readonly files: PictureFiles;
}

export class Pictures {
  private readonly cache: LRUCache<string, Picture>;
  private readonly running = new InFlight<Picture>();

  /** @param memoryBytes for images kept in memory */
  constructor(
    private readonly sources: PictureSources,
    memoryBytes: number,
  ) {
    const maxSize = Math.max(memoryBytes, overheadBytes);
    this.cache = new LRUCache({
      maxSize,
      // One large image must not evict all others.
      maxEntrySize: Math.max(overheadBytes, Math.floor(maxSize / 8)),
      sizeCalculation: (picture) => overheadBytes + picture.bytes.length,
    });
  }

  /**
   * An image from a blob. Its key identifies the content, as blobs never change.
   * @throws Failure unsupported_format when the file is not a readable image, bad_request when the result would be too
   *   large, busy
   */
  resized(wanted: ResizedBlob, user: ImageUser): Promise<Picture> {
    const { blob, ...options } = wanted;
    const { host, blobs, files } = this.sources;
    const tag = pictureTag(wanted);
    const name = { blob, tag, format: wanted.format };
    return this.once(tag, user, async (shared) => {
      const stored = await files.read(name);
      if (stored) return stored;
      const response = await blobs
        .withLocalCopy(blob, (path) => host.call("resize", { path, ...options }, shared))
        .catch(unreadable);
      if (response.ok) {
        await files.write(name, response);
        // A blob that was deleted meanwhile leaves no pictures behind.
        await blobs.size(blob).catch(() => files.forget(blob));
        return response;
      }
      if (response.reason === "result_too_large") throw badRequest("The picture would be too large.");
      throw failed(
        "unsupported_format",
        response.reason === "source_too_large"
          ? "The picture has too many pixels."
          : "The file is no picture that can be read.",
      );
    });
  }

  /** PNG of an SVG that the server made. @throws Failure internal, busy */
  drawn(request: DrawRequest, user: ImageUser): Promise<Picture> {
    return this.once(pictureTag(request), user, async (shared) => ({
      bytes: await this.sources.host.call("draw", request, shared),
      format: "png",
    }));
  }

  /**
   * PNG of a symbol of a legend. @param blob key of the image that its map shows
   * @throws Failure unsupported_format when it cannot be drawn, busy
   */
  symbol(request: SymbolRequest, user: ImageUser, blob?: string): Promise<Picture> {
    const { render, blobs, deadlineMs } = this.sources;
    return this.once(pictureTag(request), user, (shared) => {
      const draw = async (files: Readonly<Record<string, string>>): Promise<Picture> => ({
        bytes: await render.call("symbol", { ...request, files }, { ...shared, deadlineMs }),
        format: "png",
      });
      return blob === undefined ? draw({}) : blobs.withLocalCopy(blob, (path) => draw({ [blob]: path }));
    });
  }

  counts(): { readonly pictures: number; readonly bytes: number } {
    return { pictures: this.cache.size, bytes: this.cache.calculatedSize };
  }

  /** @param make its signal aborts when all who wait have left */
  private once(
    key: string,
    { client, signal: ofClient }: ImageUser,
    make: (shared: ImageUser) => Promise<Picture>,
  ): Promise<Picture> {
    const known = this.cache.get(key);
    if (known) return Promise.resolve(known);
    return this.running.join(key, {
      signal: ofClient,
      start: (signal) =>
        make({ client, signal }).then(({ bytes, format }) => {
          // A copy: what arrives is a view of the buffer of the whole message.
          const picture = { bytes: new Uint8Array(bytes), format };
          this.cache.set(key, picture);
          return picture;
        }, refuse),
    });
  }
}

/** A blob that is not there is a picture that cannot be read. */
function unreadable(error: unknown): ResizeResponse {
  if (error instanceof BlobNotFound) return { ok: false, reason: "unreadable" };
  throw error;
}

const refuse = (error: unknown): never =>
  blameFile(
    error,
    failed("unsupported_format", "The picture could not be made: its file is damaged or takes too long."),
  );

/** Hash of the request: the core of the ETag. */
export const pictureTag = (request: ResizedBlob | DrawRequest | SymbolRequest): string =>
  createHash("sha256").update(JSON.stringify(request)).digest("base64url").slice(0, 22);
