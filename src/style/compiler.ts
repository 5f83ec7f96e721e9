import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "../clock.js";
import { Failure, failed } from "../errors.js";
import type { CompileRequest, CompileResponse } from "../hosts/messages.js";
import { FairMutex } from "../storage/fair-mutex.js";
import type { CompiledStyle, MapProperties } from "./model.js";

/** CartoCSS to checked styles, compiled in the render host and remembered by content. */
export interface StyleCompiler {
  /**
   * @throws Failure invalid_style with a sentence for the style's author, a StyleUndecided when it took too long; busy
   *   when too many styles wait to be compiled, of all or of the project
   */
  compile(request: CompileRequest, whose: StyleOwner): Promise<CompiledRequest>;
}

/** Who needs a style compiled. */
export interface StyleOwner {
  /** Id of the project: projects share the time evenly. */
  readonly project: number;
  /** A stored style is needed to draw with, and goes before those that are checked before they are stored. */
  readonly stored: boolean;
}

/** It took too long this time, or its host died. What is made without the style is not to be kept. */
export class StyleUndecided extends Failure {
  constructor(message: string) {
    super("execution", "invalid_style", message);
    this.name = "StyleUndecided";
  }
}

export interface CompiledRequest {
  readonly style: CompiledStyle;
  readonly map: MapProperties;
}

/** The render host, as far as styles need it: src/hosts has it. */
export interface CompileHost {
  /** @throws when the host died over the style or the deadline passed; Failure busy when it takes no more work */
  call(
    kind: "compile",
    request: CompileRequest,
    options: { readonly deadlineMs: number },
  ): Promise<CompileResponse>;
}

export interface StyleCompilerOptions {
  /** After that the host itself is taken for dead; longer than the deadline of a request, which the host keeps. */
  readonly deadlineMs: number;
  readonly clock?: Clock;
}

const mostBytes = 32 * 1024 ** 2;
/** Long enough for an editor that asks again and again, short enough to forget what a newer program would take. */
const badMs = 60_000;
/** So long a style that took too long keeps others from being compiled no more: it may only have met a busy machine. */
const undecidedMs = 10_000;
/** The host compiles one style at a time, and each has its whole deadline: others wait here. */
const queueOptions = {
  timeoutMs: 20_000,
  // Some 10 ms each, but a few fill the whole patience when they are complicated.
  maxWaiting: 32,
  // Stored styles that are asked for again and again, since they take too long, leave a part of the time to editors.
  longestPutOffMs: 5_000,
  refusal: "Too many styles wait to be compiled.",
};

/** A compiler that asks the host once for each content, whoever asks how often at once. */
export function createStyleCompiler(
  host: CompileHost,
  { deadlineMs, clock = systemClock }: StyleCompilerOptions,
): StyleCompiler {
  const known = new LRUCache<string, CompileResponse>({
    maxSize: mostBytes,
    sizeCalculation: (response) => 256 + JSON.stringify(response).length * 2,
    perf: clock,
    ttlResolution: 0,
  });
  /** By who waits, and for what. */
  const running = new Map<string, Promise<CompileResponse>>();
  const mutex = new FairMutex({ ...queueOptions, clock });

  const ask = async (key: string, request: CompileRequest, whose: StyleOwner): Promise<CompileResponse> => {
    const release = await mutex.acquire({ owner: whose.project, urgent: whose.stored });
    try {
      // Others may have had the same style compiled meanwhile.
      const found = known.get(key);
      if (found) return found;
      const response = await host.call("compile", request, { deadlineMs }).catch(hostFailed);
      known.set(key, response, response.ok ? {} : { ttl: response.deadline ? undecidedMs : badMs });
      return response;
    } finally {
      release();
    }
  };

  return {
    async compile(request, whose) {
      const key = contentKey(request);
      let response = known.get(key);
      if (!response) {
        // Each waits in its own place: nobody is put off by where another one stands.
        const place = `${whose.project} ${whose.stored} ${key}`;
        let asked = running.get(place);
        if (!asked) {
          asked = ask(key, request, whose).finally(() => running.delete(place));
          running.set(place, asked);
        }
        response = await asked;
      }
      if (response.ok) return { style: response.style, map: response.map };
      throw response.deadline ? new StyleUndecided(response.error) : failed("invalid_style", response.error);
    },
  };
}

function contentKey({ mapStyle, layerStyle, layerCode }: CompileRequest): string {
  return createHash("sha256")
    .update(JSON.stringify([mapStyle, layerStyle ?? null, layerCode ?? null]))
    .digest("base64");
}

/** A style that the host did not survive, or not in time; nothing else says anything of the style. */
function hostFailed(error: unknown): CompileResponse {
  const reason = (error as { reason?: unknown } | null)?.reason;
  if (reason !== "died" && reason !== "deadline") throw error;
  return { ok: false, error: "The style is too complicated: compiling it took too long.", deadline: true };
}
