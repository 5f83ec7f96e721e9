import carto, { type Env } from "carto";
import mapnikReference from "mapnik-reference";
import { type Place, StyleError } from "../../src/style/lexer.js";

/** One text of CartoCSS for the compiler. */
export interface Source {
  /** Shown before the line number in messages. */
  readonly id: string;
  readonly text: string;
}

/** An element of carto's result, taken before it is written as XML, as carto's escaping cannot be trusted. */
export interface CartoNode {
  readonly _name?: string;
  readonly _attributes?: Readonly<Record<string, unknown>>;
  readonly _content?: unknown;
}

/** An error that carto reports for a style. */
export class CartoError extends StyleError {
  constructor(
    message: string,
    readonly source: string | undefined,
    /** In the text that was compiled. */
    place: Place | undefined,
    /** It took too long. */
    readonly deadline = false,
  ) {
    super(message, place);
    this.name = "CartoError";
  }
}

/** Ends a compilation that takes too long. */
class TooLong extends Error {}

/** Calls of carto's loops, of up to some 100 µs, between two looks at the clock. */
const callsPerLook = 64;

/** Marks the end of a stylesheet: after something that it cannot parse, carto silently drops the rest. */
const endMark = (index: number): string => `end-of-source-${index}`;
const maxSources = 3;

export class Carto {
  private calls = 0;
  private errors = 0;
  private until = Number.POSITIVE_INFINITY;
  private deadlineMs = 0;
  private readonly reference = loadReference();

  constructor() {
    this.watchTheClock();
    rememberTexts();
    compareTextsFirst();
  }

  /** Begins a style. All runs for it end together after that many milliseconds. */
  begin(deadlineMs: number): void {
    this.deadlineMs = deadlineMs;
    this.until = performance.now() + deadlineMs;
    this.errors = 0;
  }

  /**
   * Compiles sources, in the order of their precedence, for layers of these ids, all of the class `layer`; no
   * layers: for the map's properties alone.
   * @throws CartoError with carto's first error
   */
  run(sources: readonly Source[], layers: readonly string[]): CartoNode {
    const marked = sources.map(({ id, text }, index) => ({ id, data: `${text}\nMap{${endMark(index)}:1;}` }));
    const renderer = new carto.Renderer({
      outputFormat: "json",
      quiet: true,
      version: this.reference.latest,
      reference: this.reference,
    });
    let result: ReturnType<typeof renderer.render>;
    try {
      result = renderer.render({ Stylesheet: marked, Layer: layers.map((id) => ({ id, class: "layer" })) });
    } catch (error) {
      if (error instanceof TooLong) {
        throw new CartoError(
          `The style takes longer than ${this.deadlineMs / 1000} s to compile: its filters combine to too many cases.`,
          undefined,
          undefined,
          true,
        );
      }
      // On unexpected input carto throws errors of any type.
      throw new CartoError("The style cannot be compiled.", undefined, undefined);
    }
    const firstError = result.msg?.find((message) => message.type === "error");
    if (firstError || result.data === null) {
      const { line = 0, column = -1 } = firstError ?? {};
      const place = line > 0 ? { line, ...(column >= 0 && { column: column + 1 }) } : undefined;
      const text =
        firstError?.message.replace(/\s+/g, " ").trim().slice(0, 300) ?? "The style cannot be compiled";
      throw new CartoError(/[.!?]$/.test(text) ? text : `${text}.`, firstError?.filename ?? undefined, place);
    }
    return this.checkRead(JSON.parse(result.data) as CartoNode, sources);
  }

  private checkRead(map: CartoNode, sources: readonly Source[]): CartoNode {
    const attributes = { ...map._attributes };
    for (const [index, source] of sources.entries()) {
      if (attributes[endMark(index)] !== "1")
        throw new CartoError("The style cannot be read to its end.", source.id, undefined);
      delete attributes[endMark(index)];
    }
    return { ...map, _attributes: attributes };
  }

  /** Carto has no limits, so the methods that its loops call are wrapped: a few hundred bytes can mean hours of work. */
  private watchTheClock(): void {
    const look = () => {
      if (++this.calls % callsPerLook === 0 && performance.now() > this.until) throw new TooLong();
    };
    const loops = [
      ["Filterset", "cloneWith"],
      ["Filterset", "toString"],
      ["Definition", "clone"],
      ["Definition", "addRules"],
      ["Definition", "collectSymbolizers"],
      ["Rule", "ev"],
      ["Rule", "toObject"],
      ["Variable", "ev"],
      ["Operation", "ev"],
      ["Call", "ev"],
    ] as const;
    for (const [type, method] of loops) {
      const prototype = carto.tree[type].prototype;
      const original = prototype[method] as (...args: unknown[]) => unknown;
      prototype[method] = function (this: unknown, ...args: unknown[]) {
        look();
        return original.apply(this, args);
      };
    }
    const error = carto.Util.error;
    carto.Util.error = (env: Env, message: unknown) => {
      // Only the first error is shown, and finding the lines of thousands would take long.
      if (++this.errors > 20) throw new Error("N/A");
      error.call(carto.Util, env, message);
    };
  }
}

/** What is remembered of a column or value of a filter, which never change. Kept in it, as a map would cost too much. */
interface Remembered {
  [remembered]?: {
    readonly text: string;
    /** The key under which a set of filters has that of `=` for this column. */
    readonly equal: string;
    readonly kind: "word" | "integer" | "other";
  };
}
const remembered = Symbol("remembered");

/**
 * Filters are compared by their texts, which carto writes anew for each comparison: half of the time that a large style
 * takes.
 */
function rememberTexts(): void {
  for (const type of ["Field", "Quoted"] as const) {
    const prototype = carto.tree[type].prototype;
    const original = prototype.toString as (...args: unknown[]) => string;
    prototype.toString = function (this: Remembered, ...args: unknown[]) {
      return args[0] === true ? original.apply(this, args) : textOf(this, original).text;
    };
  }
}

function textOf(value: Remembered, write: (this: object) => string = value.toString) {
  let known = value[remembered];
  if (!known) {
    const text = write.call(value);
    const kind = /^[\p{L}_]/u.test(text) ? "word" : /^(?:0|[1-9]\d{0,14})$/.test(text) ? "integer" : "other";
    known = { text, equal: `${text}=`, kind };
    value[remembered] = known;
  }
  return known;
}

interface Filter {
  readonly op: string;
  readonly key: Remembered;
  readonly val: Remembered;
}

/**
 * Whether a filter can be added to others is asked some million times for a large style. Nearly always the others hold the
 * same column equal to another word or number, which needs none of carto's tests.
 */
function compareTextsFirst(): void {
  const { prototype } = carto.tree.Filterset;
  const original = prototype.addable as (filter: Filter) => boolean | null;
  prototype.addable = function (this: { filters: Record<string, Filter> }, filter: Filter) {
    const held = filter.op === "=" || filter.op === "!=" ? this.filters[textOf(filter.key).equal] : undefined;
    if (held) {
      const own = textOf(filter.val);
      const other = textOf(held.val);
      if (own.text === other.text) return filter.op === "=" ? null : false;
      if (own.kind === "word" || (own.kind === "integer" && other.kind !== "other"))
        return filter.op === "=" ? false : null;
    }
    return original.call(this, filter);
  };
}

/** carto's reference of Mapnik's properties, with the end marks added, and with face names optional. */
function loadReference() {
  const version = "3.0.22";
  const data = mapnikReference.load(version);
  const map = data.symbolizers.map;
  const face = data.symbolizers.text?.["face-name"];
  if (!map || !face) throw new Error(`mapnik-reference ${version} has another form than expected.`);
  for (let index = 0; index < maxSources; index++)
    map[endMark(index)] = { css: endMark(index), type: "float" };
  face.required = false;
  return { latest: version, versions: [version], load: () => data };
}
