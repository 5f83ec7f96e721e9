import type { IncomingMessage } from "node:http";
import { extname } from "node:path";
import type { Config } from "../config.js";
import { eitherSignal } from "../either-signal.js";
import { type Failure, failed } from "../errors.js";
import { isImportable } from "../hosts/import-messages.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import { Outbound, reasonOf, SourceError } from "./outbound.js";

/** Gets files that somebody has a link to, from servers of others. They are only passed on: nobody but who asked gets them. */

export interface LinkedFile {
  /** Of the file, as its server or its address has it, with an extension if that can be known. */
  readonly name: string;
  /** Bytes of it, if the server says so. */
  readonly bytes: number | undefined;
  /** @throws Failure import_failed when the rest does not come, or is too much */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Files that are got at once. */
const mostFiles = 8;
/** Of one project, and of one user of it. */
const mostOfProject = 4;
const mostOfUser = 2;
const mostWaiting = 64;
const waitMs = 10_000;
/** Letters of a name. */
const longestName = 120;

/** Extensions for media types of files whose name has none. */
const extensions: Readonly<Record<string, string>> = {
  "application/geo+json": "geojson",
  "application/json": "geojson",
  "text/csv": "csv",
  "text/tab-separated-values": "tsv",
  "application/vnd.google-earth.kml+xml": "kml",
  "application/vnd.google-earth.kmz": "kmz",
  "application/gpx+xml": "gpx",
  "application/gml+xml": "gml",
  "application/geopackage+sqlite3": "gpkg",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/zip": "zip",
  "image/tiff": "tif",
};

export class LinkedFiles {
  private readonly outbound: Outbound;
  private readonly permits = new FairSemaphore({
    ...{ permits: mostFiles, mostOfOne: mostOfProject, mostOfNext: mostOfUser },
    ...{ mostWaiting, timeoutMs: waitMs, refusal: "Too many files are being fetched." },
  });

  constructor(private readonly options: Config["links"]) {
    const { hosts, privateAddresses } = options;
    this.outbound = new Outbound({
      hosts: hosts.includes("*") ? undefined : hosts,
      setting: "links.hosts",
      privateAddresses,
      connections: mostFiles,
      accept: "*/*",
    });
  }

  /**
   * The file at an address. Whoever gets it reads it to its end, or leaves it.
   * @param owners project and user, who take turns
   * @throws Failure busy, import_failed with the reason; the signal's reason
   */
  async open(
    address: string,
    owners: readonly [string, string],
    cancelled: AbortSignal,
  ): Promise<LinkedFile> {
    const giveBack = await this.permits.acquire({ owners, signal: cancelled });
    const { signal, release: forget } = eitherSignal([
      AbortSignal.timeout(this.options.deadlineMs),
      cancelled,
    ]);
    const release = () => {
      forget();
      giveBack();
    };
    try {
      const { answer, url } = await this.outbound.get(address, signal);
      const given = Number(answer.headers["content-length"] ?? Number.NaN);
      const bytes = Number.isSafeInteger(given) ? given : undefined;
      try {
        if (answer.statusCode !== 200) throw new SourceError(`it answers ${answer.statusCode}`);
        if (!["", "identity"].includes(answer.headers["content-encoding"] ?? ""))
          throw new SourceError("it sends what is compressed, which was not asked for");
        if ((bytes ?? 0) > this.options.bytes) throw this.tooLarge();
      } catch (error) {
        answer.destroy();
        throw error;
      }
      // Also when nobody reads it: the signal ends it.
      answer.once("close", release);
      return { name: nameOf(answer, url), bytes, chunks: this.read(answer, signal) };
    } catch (error) {
      release();
      cancelled.throwIfAborted();
      throw failureOf(error);
    }
  }

  /** Ends all connections. */
  close(): void {
    this.outbound.close();
  }

  private async *read(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let length = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > this.options.bytes) throw this.tooLarge();
        yield chunk;
      }
      if (!answer.complete) throw new SourceError("it ends too early");
    } catch (error) {
      throw failureOf(signal.aborted ? signal.reason : error);
    } finally {
      answer.destroy();
    }
  }

  private tooLarge(): SourceError {
    return new SourceError(`it has more than ${this.options.bytes} bytes, which links.bytes allows`);
  }
}

const failureOf = (error: unknown): Failure => {
  const reason = error instanceof SourceError ? error.message : reasonOf(error as Error);
  return failed("import_failed", `The file cannot be fetched: ${reason}.`);
};

/** As RFC 6266 has it, or the last part of the address. */
function nameOf({ headers }: IncomingMessage, url: URL): string {
  const said = headers["content-disposition"] ?? "";
  const encoded = /filename\*\s*=\s*utf-8''([^;]+)/i.exec(said)?.[1];
  const plain = /filename\s*=\s*(?:"([^"]*)"|([^;\s]+))/i.exec(said);
  const name =
    (encoded && decoded(encoded)) || plain?.[1] || plain?.[2] || decoded(url.pathname.split("/").at(-1)!);
  const clean = name.slice(-longestName).replace(/[\p{Cc}\p{Bidi_Control}\p{Surrogate}/\\]/gu, "_") || "file";
  if (isImportable(extname(clean).slice(1).toLowerCase())) return clean;
  const type = headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const extension = Object.hasOwn(extensions, type) ? extensions[type] : undefined;
  return extension ? `${clean}.${extension}` : clean;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
