import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type Clock, systemClock } from "../clock.js";
import { Failure, failed } from "../errors.js";
import type { CompileRequest, CompileResponse } from "../hosts/messages.js";
import { FairMutex } from "../queues/fair-mutex.js";
import type { CompiledStore } from "./compiled-store.js";
import type { CompiledStyle, MapProperties } from "./model.js";

/** CartoCSS to checked styles. The render host compiles them; results are cached by content. */
export interface StyleCompiler {
  /**
   * @throws Failure invalid_style with a message for the style's author; StyleTimeout when it took too long; busy when
   *   too many styles wait to be compiled, in all or of the project
   */
  compile(request: CompileRequest, owner: StyleOwner): Promise<CompiledRequest>;
}

/** Who needs a style compiled. */
export interface StyleOwner {
  /** Id of the project: projects share the time evenly. */
  readonly project: number;
  /** Tiles need stored styles: these are compiled before styles that are checked in order to be stored. */
  readonly stored: boolean;
}

/** The style took too long this time, or its host died. What is made without the style must not be cached. */
export class StyleTimeout extends Failure {
  constructor(message: string) {
    super("execution", "invalid_style", message);
    this.name = "StyleTimeout";
  }
}

export interface CompiledRequest {
  readonly style: CompiledStyle;
  readonly map: MapProperties;
}

/** The part of the render host that styles need. */
export interface CompileHost {
  /** @throws when the host died over the style or the deadline passed; Failure busy when it takes no more work */
  call(
    kind: "compile",
    request: CompileRequest,
    options: { readonly deadlineMs: number },
  ): Promise<CompileResponse>;
}

export interface StyleCompilerOptions {
  /** When the host itself counts as dead. Longer than the deadline of a request, which the host enforces. */
  readonly deadlineMs: number;
  readonly clock?: Clock;
  /** What nodes that start find; absent = they compile all styles again. */
  readonly store?: Pick<CompiledStore, "get" | "put">;
}

/** Texts that are known, in characters: that of a map counts in the key of each of its layers. */
const knownCharacters = 32 * 1024 ** 2;
/** Codes of layers that are looked for in one text. */
const mostNames = 1_000;

/** What keys have of the text of a style. */
interface KnownText {
  readonly hash: string;
  /** Whether the text has the code of a layer. */
  readonly names: Map<string, boolean>;
}
const cacheBytes = 32 * 1024 ** 2;
/** How long an invalid style is remembered: an editor may ask often, and a newer program may accept it. */
const invalidTtlMs = 60_000;
/** How long a timeout is remembered, so that others are compiled meanwhile: the machine may only have been busy. */
const timeoutTtlMs = 10_000;
/**
 * The host compiles one style at a time, so that each has its whole deadline. Others wait here; beside one that takes long,
 * those of other projects are compiled in a second thread.
 */
const queueOptions = {
  besideMs: 200,
  timeoutMs: 20_000,
  // Most take some 10 ms, but a few complicated ones can take the whole wait.
  maxWaiting: 32,
  // Stored styles that time out are compiled again and again. They must leave some time to editors.
  longestPutOffMs: 5_000,
  refusal: "Too many styles wait to be compiled.",
};

/** A compiler that asks the host once for each content, however many requests wait for it. */
export function createStyleCompiler(
  host: CompileHost,
  { deadlineMs, clock = systemClock, store }: StyleCompilerOptions,
): StyleCompiler {
  const cache = new LRUCache<string, CompileResponse>({
    maxSize: cacheBytes,
    sizeCalculation: (response) => 256 + JSON.stringify(response).length * 2,
    perf: clock,
    ttlResolution: 0,
  });
  /** By owner and content. */
  const running = new Map<string, Promise<CompileResponse>>();
  const mutex = new FairMutex({ ...queueOptions, clock });

  const compileOnce = async (
    key: string,
    request: CompileRequest,
    owner: StyleOwner,
  ): Promise<CompileResponse> => {
    const release = await mutex.acquire({ owner: owner.project, urgent: owner.stored });
    try {
      // The same style may have been compiled for another owner meanwhile.
      const found = cache.get(key);
      if (found) return found;
      const response = await host.call("compile", request, { deadlineMs }).catch(hostFailed);
      cache.set(key, response, response.ok ? {} : { ttl: response.deadline ? timeoutTtlMs : invalidTtlMs });
      // Not while an editor looks for one.
      if (response.ok && owner.stored) store?.put(key, response);
      return response;
    } finally {
      release();
    }
  };

  const findOrCompile = async (key: string, request: CompileRequest, owner: StyleOwner) => {
    const found = owner.stored ? await store?.get(key) : undefined;
    if (found) cache.set(key, found);
    return found ?? compileOnce(key, request, owner);
  };

  const known = new LRUCache<string, KnownText>({
    maxSize: knownCharacters,
    sizeCalculation: (_, text) => 500 + text.length,
  });
  const knownText = (text: string): KnownText => {
    let found = known.get(text);
    if (!found) {
      found = { hash: sha256(text), names: new Map() };
      known.set(text, found);
    }
    return found;
  };
  /** One layer of a map after the other has its text; to compare it with an equal one that is another string takes long. */
  let last = { text: "", known: knownText("") };
  const textOfMap = (text: string): KnownText => {
    last = { text, known: last.text === text ? last.known : knownText(text) };
    return last.known;
  };
  /** Layers of the same style share its compilation, unless the map's style may name one of them. */
  const contentKey = ({ mapStyle, layerStyle, layerCode }: CompileRequest): string => {
    const { hash, names } = textOfMap(mapStyle);
    let isNamed = false;
    if (layerCode !== undefined && mapStyle !== "") {
      isNamed = names.get(layerCode) ?? mapStyle.includes(layerCode);
      if (names.size >= mostNames) names.clear();
      names.set(layerCode, isNamed);
    }
    const own = layerStyle === undefined ? null : knownText(layerStyle).hash;
    return sha256(JSON.stringify([hash, own, isNamed ? layerCode : null]));
  };

  return {
    async compile(request, owner) {
      const key = contentKey(request);
      let response = cache.get(key);
      if (!response) {
        // Each owner waits in its own queue, even for the same style.
        const ownerKey = `${owner.project} ${owner.stored} ${key}`;
        let pending = running.get(ownerKey);
        if (!pending) {
          pending = findOrCompile(key, request, owner).finally(() => running.delete(ownerKey));
          running.set(ownerKey, pending);
        }
        response = await pending;
      }
      if (response.ok) return { style: response.style, map: response.map };
      throw response.deadline ? new StyleTimeout(response.error) : failed("invalid_style", response.error);
    },
  };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64");

/** A style over which the host died or overran its deadline. Other errors are not about the style. */
function hostFailed(error: unknown): CompileResponse {
  const reason = (error as { reason?: unknown } | null)?.reason;
  if (reason !== "died" && reason !== "deadline") throw error;
  return { ok: false, error: "The style is too complicated: compiling it took too long.", deadline: true };
}
