import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { Failure, failed } from "../errors.js";
import type { CompileRequest, CompileResponse } from "../hosts/messages.js";
import type { CompiledStyle, MapProperties } from "./model.js";

/** CartoCSS to checked styles, compiled in the render host and remembered by content. */
export interface StyleCompiler {
  /** @throws Failure invalid_style with a sentence for the style's author */
  compile(request: CompileRequest): Promise<CompiledRequest>;
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
  /** Milliseconds of any steady clock. */
  readonly now?: () => number;
}

const mostBytes = 32 * 1024 ** 2;
/** Long enough for an editor that asks again and again, short enough to forget what a newer program would take. */
const badMs = 60_000;

/** A compiler that asks the host once for each content, whoever asks how often at once. */
export function createStyleCompiler(host: CompileHost, options: StyleCompilerOptions): StyleCompiler {
  const known = new LRUCache<string, CompileResponse>({
    maxSize: mostBytes,
    sizeCalculation: (response) => 256 + JSON.stringify(response).length * 2,
    ...(options.now && { perf: { now: options.now }, ttlResolution: 0 }),
  });
  const running = new Map<string, Promise<CompileResponse>>();

  const ask = async (key: string, request: CompileRequest): Promise<CompileResponse> => {
    try {
      const response = await host.call("compile", request, { deadlineMs: options.deadlineMs });
      // A style that took too long may only have met a busy machine.
      if (response.ok || !response.deadline) known.set(key, response, response.ok ? {} : { ttl: badMs });
      return response;
    } finally {
      running.delete(key);
    }
  };

  return {
    async compile(request) {
      const key = contentKey(request);
      let response = known.get(key);
      if (!response) {
        let asked = running.get(key);
        if (!asked) {
          asked = ask(key, request);
          running.set(key, asked);
        }
        response = await asked.catch((error: unknown) => {
          throw hostFailure(error);
        });
      }
      if (response.ok) return { style: response.style, map: response.map };
      throw failed("invalid_style", response.error);
    },
  };
}

function contentKey({ mapStyle, layerStyle, layerCode }: CompileRequest): string {
  return createHash("sha256")
    .update(JSON.stringify([mapStyle, layerStyle ?? null, layerCode ?? null]))
    .digest("base64");
}

/** A style that the host did not survive, or not in time, is not valid; nothing else says so of the style. */
function hostFailure(error: unknown): unknown {
  if (error instanceof Failure) return error;
  const reason = (error as { reason?: unknown } | null)?.reason;
  if (reason === "died" || reason === "deadline") {
    return failed("invalid_style", "The style is too complicated: compiling it took too long.");
  }
  return error;
}
