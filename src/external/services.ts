import { setMaxListeners } from "node:events";
import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "../clock.js";
import type { Config } from "../config.js";
import { eitherSignal } from "../either-signal.js";
import { busy } from "../errors.js";
import { HostError } from "../hosts/host.js";
import type { ImageHost, ImageUser } from "../hosts/image.js";
import type { PartImage } from "../hosts/messages.js";
import type { Log } from "../log.js";
import { clientOwners } from "../queues/clients.js";
import { FairQueue, type Owners } from "../queues/fair-queue.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { InFlight } from "../queues/in-flight.js";
import { type FetchOptions, ImageFetcher } from "./fetch.js";
import { SourceError } from "./outbound.js";
import { imagesOf, type RasterService, type WantedArea, type WantedImages } from "./requests.js";

/** The raster services of others: gets their images, keeps them for a while, and does without those that do not come. */

export interface RasterServicesOptions extends FetchOptions {
  /** Memory for images as they came. */
  readonly memoryBytes: number;
  /** How long an image is kept of which the server does not say, and at most. */
  readonly ageSeconds: number;
  readonly maxAgeSeconds: number;
  /** After how long a server that failed is asked again. */
  readonly retrySeconds: number;
  /** How long an image may wait for a connection. */
  readonly maxWaitMs: number;
  /** Areas that may wait for images at once. */
  readonly maxWaiting: number;
}

export interface RasterServicesParts {
  readonly image: Pick<ImageHost, "call">;
  readonly log: Log;
  /** Tells of each image that was needed. */
  readonly onImage: (host: string, result: ImageResult) => void;
  readonly clock?: Clock;
}

/** Where an image came from; `failed` = it did not come, `skipped` = it was not asked for, as the server fails. */
export type ImageResult = "memory" | "fetched" | "failed" | "skipped";

/** An image of an area. */
export interface ServiceImage {
  /** Undefined = nothing is there, or nothing came. */
  readonly image: PartImage | undefined;
  /** Until when it may be shown, by the clock. */
  readonly expiresAt: number;
  /** Whether parts of it did not come. */
  readonly isPartial: boolean;
}

interface KeptImage {
  readonly bytes: Uint8Array | undefined;
  readonly expiresAt: number;
  /** Whether it can be read; undefined = nobody has tried. */
  isReadable?: boolean;
}

interface Fetched {
  readonly result: ImageResult;
  readonly image?: KeptImage;
}

/** Memory of an entry besides its bytes and address. */
const entryBytes = 300;
/** However short the server says: a metatile asks for many images, and its neighbours for them again. */
const leastSeconds = 60;
/** Failures in a row after which a service, or a server that is not reached, is left alone for a while. */
const maxFailures = 3;
/** Services and servers of which failures are known. */
const maxFailing = 5_000;

export class RasterServices {
  private readonly fetcher: ImageFetcher;
  private readonly clock: Clock;
  private readonly kept: LRUCache<string, KeptImage>;
  /** Images that are got, by address. */
  private readonly running = new InFlight<Fetched>();
  /** What each who waits for his turn to get an image does when somebody else's comes first; by address. */
  private readonly askers = new Map<string, Set<() => void>>();
  /** By host. Hosts are those of the configuration, so there are few. */
  private readonly semaphores = new Map<string, FairSemaphore>();
  /** By host, of those that are not reached, and by address of a service, of those that give no images. */
  private readonly failures = new LRUCache<string, { count: number; last: number }>({ max: maxFailing });
  /** Areas that wait, by host, project and client, with what ends their wait: when there are too many, those of the host with most. */
  private readonly waiting: FairQueue<(reason: unknown) => void>;

  constructor(
    private readonly options: RasterServicesOptions,
    private readonly parts: RasterServicesParts,
  ) {
    this.fetcher = new ImageFetcher(options);
    this.waiting = new FairQueue({ mostWaiting: options.maxWaiting });
    this.clock = parts.clock ?? systemClock;
    this.kept = new LRUCache({
      maxSize: Math.max(options.memoryBytes, entryBytes),
      sizeCalculation: ({ bytes }, url) => entryBytes + 2 * url.length + (bytes?.length ?? 0),
    });
  }

  /**
   * @param owner project whose layer it is; projects take turns at a host, and the clients of each
   * @param user its signal aborts when nobody waits for the image any more
   * @throws Failure busy when too many areas wait; the signal's reason
   */
  async image(
    { owner = "", ...service }: RasterService & { readonly owner?: string },
    area: WantedArea,
    { client, signal }: ImageUser,
  ): Promise<ServiceImage> {
    const { retrySeconds, maxAgeSeconds } = this.options;
    const wanted = imagesOf(service, area);
    const now = this.clock.now();
    if (!wanted) return { image: undefined, expiresAt: now + 1_000 * maxAgeSeconds, isPartial: false };
    signal.throwIfAborted();
    // When one cannot be waited for, the others are not either.
    const failed = new AbortController();
    const ended = AbortSignal.any([signal, failed.signal]);
    // Each image listens to it, and a metatile has many.
    setMaxListeners(0, ended);
    const users = [owner, ...clientOwners(client)];
    const owners = [new URL(wanted.urls[0]!).host, ...users];
    const refuse = (reason: unknown) => failed.abort(reason);
    this.waiting.add(owners, refuse)?.(busy("Too many tiles wait for the services of others.", 5));
    try {
      ended.throwIfAborted();
      const images = await Promise.all(
        wanted.urls.map((url) =>
          this.get({ url, service: service.url, users, mayBeMissing: wanted.mayBeMissing }, ended),
        ),
      );
      const known = images.filter((image) => image !== undefined);
      const made = await this.mosaic(wanted, { images, area }, { client, signal: ended });
      if (made) this.tried(images, made.unread, wanted.urls, service.url);
      const isPartial = known.length < images.length || !made || made.unread.length > 0;
      const expiresAt = Math.min(
        ...known.map((image) => image.expiresAt),
        ...(isPartial ? [this.clock.now() + 1_000 * retrySeconds] : []),
      );
      return { image: made?.image, expiresAt, isPartial };
    } catch (error) {
      failed.abort(error);
      throw error;
    } finally {
      this.waiting.remove(owners, refuse);
    }
  }

  close(): void {
    this.fetcher.close();
  }

  /** Undefined = it did not come. @throws the signal's reason; Failure busy */
  private async get(wanted: WantedImage, signal: AbortSignal): Promise<KeptImage | undefined> {
    const { url } = wanted;
    const { host } = new URL(url);
    const kept = this.kept.get(url);
    if (kept && kept.expiresAt > this.clock.now()) {
      this.parts.onImage(host, "memory");
      return kept;
    }
    const { result, image } = await this.getAtTurn(wanted, host, signal);
    this.parts.onImage(host, result);
    return image;
  }

  /**
   * Gets the image at the turn of whoever is the first of those who wait for it.
   * @throws Failure busy when the wait for a connection was too long; the signal's reason
   */
  private async getAtTurn(wanted: WantedImage, host: string, signal: AbortSignal): Promise<Fetched> {
    const { url, users } = wanted;
    const join = (release?: () => void) =>
      this.running.join(url, {
        signal,
        start: (cancelled) => this.fetch(wanted, host, cancelled).finally(release),
      });
    if (this.running.has(url, () => true)) return join();
    const begun = new AbortController();
    let shared: Promise<Fetched> | undefined;
    const share = () => {
      shared = join();
      begun.abort();
    };
    const askers = this.askers.get(url) ?? new Set();
    this.askers.set(url, askers.add(share));
    const either = eitherSignal([signal, begun.signal]);
    try {
      const release = await this.turnAt(host, users, either.signal);
      askers.delete(share);
      if (shared || signal.aborted) release();
      else {
        shared = join(release);
        for (const other of askers) other();
      }
    } catch (error) {
      if (!shared) throw error;
    } finally {
      either.release();
      askers.delete(share);
      if (askers.size === 0 && this.askers.get(url) === askers) this.askers.delete(url);
    }
    return shared ?? join();
  }

  private async fetch(
    { url, service, mayBeMissing }: WantedImage,
    host: string,
    cancelled: AbortSignal,
  ): Promise<Fetched> {
    const { ageSeconds, maxAgeSeconds: most } = this.options;
    try {
      if (this.isResting(host) || this.isResting(service)) return { result: "skipped" };
      const { bytes, maxAgeSeconds } = await this.fetcher.fetch(url, mayBeMissing, cancelled);
      const seconds = Math.min(most, Math.max(leastSeconds, maxAgeSeconds ?? ageSeconds));
      const image: KeptImage = { bytes, expiresAt: this.clock.now() + 1_000 * seconds };
      this.kept.set(url, image);
      this.failures.delete(host);
      return { result: "fetched", image };
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      // Not its fault.
      if (!cancelled.aborted) this.failed(host, error.isUnreachable ? host : service, error);
      return { result: "failed" };
    }
  }

  /** Waits for a connection, so that the deadline counts the time that the server takes, and not that of a queue of ours. */
  private turnAt(host: string, owners: Owners, cancelled: AbortSignal): Promise<() => void> {
    const { connections, maxWaitMs } = this.options;
    let semaphore = this.semaphores.get(host);
    if (!semaphore) {
      semaphore = new FairSemaphore({
        permits: connections,
        mostWaiting: Number.POSITIVE_INFINITY,
        timeoutMs: maxWaitMs,
        refusal: `Too many tiles wait for images of ${host}.`,
        clock: this.clock,
      });
      this.semaphores.set(host, semaphore);
    }
    return semaphore.acquire({ owners, signal: cancelled });
  }

  private isResting(name: string): boolean {
    const found = this.failures.get(name);
    if (!found || found.count < maxFailures) return false;
    return this.clock.now() < found.last + 1_000 * this.options.retrySeconds;
  }

  private failed(host: string, name: string, { message }: SourceError): void {
    const count = (this.failures.get(name)?.count ?? 0) + 1;
    this.failures.set(name, { count, last: this.clock.now() });
    if (count === 1 || count === maxFailures)
      this.parts.log.warn({ host, reason: message, failures: count }, "an external layer has no image");
  }

  /**
   * Whether images can be read shows when they are: those that cannot are asked for again, as ones that did not come. A service
   * has failed when none of the new ones can, so that a few damaged images never take the others away.
   */
  private tried(
    images: readonly (KeptImage | undefined)[],
    unread: readonly number[],
    urls: readonly string[],
    service: string,
  ): void {
    const pieces = images.map((image, index) => ({
      image,
      url: urls[index]!,
      isReadable: !unread.includes(index),
    }));
    const known = pieces.filter(({ image }) => image?.bytes);
    const fresh = known.filter(({ image }) => image!.isReadable === undefined);
    for (const { image, url, isReadable } of fresh) {
      image!.isReadable = isReadable;
      if (!isReadable) this.kept.delete(url);
    }
    if (fresh.some(({ isReadable }) => isReadable)) this.failures.delete(service);
    else if (fresh.length > 0 && !known.some(({ isReadable }) => isReadable))
      this.failed(new URL(fresh[0]!.url).host, service, new SourceError("images of it cannot be read"));
  }

  /** Undefined = the images could not be put together, and none may be to blame. */
  private async mosaic(
    { columns, left, top, side }: WantedImages,
    { images, area }: { readonly images: readonly (KeptImage | undefined)[]; readonly area: WantedArea },
    user: ImageUser,
  ): Promise<{ readonly image?: PartImage; readonly unread: readonly number[] } | undefined> {
    const pieces = images.map((image) => image?.bytes ?? null);
    if (pieces.every((bytes) => bytes === null)) return { unread: [] };
    const pixels = 256 * area.scale * area.count;
    try {
      const answer = await this.parts.image.call(
        "mosaic",
        { pieces, columns, left, top, side, pixels },
        user,
      );
      if (answer.ok) return { image: { pixels: answer.pixels }, unread: answer.unread };
      if (answer.isTooLarge) return undefined;
      return { unread: [...pieces.keys()].filter((index) => pieces[index] !== null) };
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      this.parts.log.warn({ err: error }, "images of an external layer could not be put together");
    }
    return undefined;
  }
}

interface WantedImage {
  readonly url: string;
  /** Address of the service, with its placeholders. */
  readonly service: string;
  /** Project, and client within it. */
  readonly users: Owners;
  readonly mayBeMissing: boolean;
}

/** The services as the configuration has them. */
export const createRasterServices = (
  { externalHosts, externalLayers, tiles }: Pick<Config, "externalHosts" | "externalLayers" | "tiles">,
  parts: RasterServicesParts,
): RasterServices =>
  new RasterServices(
    {
      ...externalLayers,
      hosts: externalHosts,
      maxBytes: externalLayers.imageBytes,
      maxWaitMs: tiles.deadlineMs,
      maxWaiting: tiles.queueLength,
    },
    parts,
  );
