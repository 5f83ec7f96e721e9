import { busy, Failure, tooLarge } from "../errors.js";
import { HostError } from "../hosts/host.js";
import { type ThreadCounts, WorkerThreads } from "../hosts/threads.js";
import type { JsonLimits } from "../json.js";
import type { Log } from "../log.js";
import type { BulkPlan, BulkRules } from "./bulk-body.js";
import {
  asBuffer,
  type BodyAnswer,
  type BodyResults,
  type BodyTask,
  type GeometryRules,
  type ObjectRules,
  type SavedObject,
  unpackedObject,
} from "./object-body.js";

/** Reads large bodies in worker threads, so that others are answered meanwhile. */

/** A body whose bytes are moved to another thread while it is read there. */
export interface LentBody {
  readonly limits: JsonLimits;
  /** @param use must give the parts back, also with a failure; if it rejects they are lost */
  lend<T>(
    use: (
      parts: readonly Uint8Array[],
    ) => Promise<{ readonly parts: readonly Uint8Array[]; readonly value: T }>,
  ): Promise<T>;
}

export interface BodyReader {
  readonly client: string;
  readonly signal: AbortSignal;
}

export interface BodyThreadsOptions {
  /** What a parsed body may take; default: half a gigabyte, which holds any geometry of 16 MB. */
  readonly memoryBytes?: number;
  /** For reading one; default: 20 s. */
  readonly deadlineMs?: number;
}

/** While one reads a long body, or that of a client who sends many, another one is there for others. */
const threads = 2;
const defaultMemoryBytes = 512 * 1024 ** 2;

export class BodyThreads {
  private readonly threads: WorkerThreads;
  private readonly memoryBytes: number;

  constructor(log: Log, { memoryBytes = defaultMemoryBytes, deadlineMs = 20_000 }: BodyThreadsOptions = {}) {
    this.memoryBytes = memoryBytes;
    this.threads = new WorkerThreads({
      ...{ name: "bodies", worker: "body", threads, deadlineMs, log },
      // Checks of the parsed value take some more.
      memoryBytes: 2 * memoryBytes,
      queueLength: 64,
      maxWaitMs: 10_000,
    });
  }

  /** The object of a body. @throws Failure as `parseJson` and `readObject`; too_large; as `WorkerThreads.run` */
  async object(body: LentBody, rules: ObjectRules, reader: BodyReader): Promise<SavedObject> {
    const { srid, languages, id, layer } = rules;
    // Not all of the layer: what is given to another thread is copied.
    const { columns, geometryKind } = layer;
    const plain: ObjectRules = { srid, languages, id, layer: { columns, geometryKind } };
    const result = await this.run(body, { kind: "object", rules: plain }, reader);
    return unpackedObject(result as BodyResults["object"], rules);
  }

  /** The geometry of a body, as EWKB. @throws as `object` */
  async geometry(body: LentBody, { srid, layer }: GeometryRules, reader: BodyReader): Promise<Buffer | null> {
    const rules: GeometryRules = { srid, layer: { geometryKind: layer.geometryKind } };
    const result = (await this.run(body, { kind: "geometry", rules }, reader)) as BodyResults["geometry"];
    return result && asBuffer(result);
  }

  /** The edits of a body. @throws Failure as `parseJsonList` and `readBulk`; too_large; as `WorkerThreads.run` */
  async bulk(body: LentBody, { srid, languages, layer }: BulkRules, reader: BodyReader): Promise<BulkPlan> {
    const { columns, geometryKind } = layer;
    const rules: BulkRules = { srid, languages, layer: { columns, geometryKind } };
    return (await this.run(body, { kind: "bulk", rules }, reader)) as BodyResults["bulk"];
  }

  /** A hash of `start` and the body without a member `token`. @throws as `object` */
  async digest(body: LentBody, start: string, reader: BodyReader): Promise<string> {
    return (await this.run(body, { kind: "digest", start }, reader)) as string;
  }

  private async run(
    body: LentBody,
    task: {
      [Kind in BodyTask["kind"]]: Omit<Extract<BodyTask, { kind: Kind }>, "parts" | "limits">;
    }[BodyTask["kind"]],
    { client, signal }: BodyReader,
  ): Promise<BodyResults[keyof BodyResults]> {
    const { members, values } = body.limits;
    const { memoryBytes } = this;
    const { failure, result } = await body.lend(async (parts) => {
      const moved = parts.map(({ buffer }) => buffer as ArrayBuffer);
      const answer = await this.threads
        .run<BodyAnswer>(
          { ...task, parts, limits: { members, values, memoryBytes } },
          { client, signal, moved },
        )
        .catch(unreadable);
      return { parts: answer.parts, value: answer };
    });
    if (failure) throw new Failure(failure.kind, failure.code, failure.message, failure.data);
    return result!;
  }

  counts(): ThreadCounts {
    return this.threads.counts();
  }

  stop(): Promise<void> {
    return this.threads.stop();
  }
}

function unreadable(error: unknown): never {
  if (!(error instanceof HostError)) throw error;
  if (error.reason === "died") throw tooLarge("The body needs more memory than the server has for it.");
  throw busy("Reading the body took too long. Send this again later.", 10);
}
