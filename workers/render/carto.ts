import carto, { type Env } from "carto";
import mapnikReference from "mapnik-reference";
import { StyleError } from "../../src/style/lexer.js";

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
    line: number | undefined,
  ) {
    super(message, line);
    this.name = "CartoError";
  }
}

/** Ends a compilation that takes more steps than any reasonable style. */
class TooManySteps extends Error {}

/**
 * Steps that compiling one style may take, some 0.1 µs each, so that it ends well within its deadline. Filters multiply:
 * a few hundred bytes can mean hours of work and gigabytes of rules. A style with a thousand classes takes two thirds
 * of this.
 */
const maxSteps = 6_000_000;

/** Marks the end of a stylesheet: after something that it cannot parse, carto silently drops the rest. */
const endMark = (index: number): string => `end-of-source-${index}`;
const maxSources = 3;

export class Carto {
  private steps = 0;
  private errors = 0;
  private readonly reference = loadReference();

  constructor() {
    this.countSteps();
  }

  /** Resets the count of steps. Several runs for one style share the count. */
  resetSteps(): void {
    this.steps = 0;
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
      if (error instanceof TooManySteps) {
        throw new CartoError(
          "The style is too complicated: its filters combine to too many cases.",
          undefined,
          undefined,
        );
      }
      // On unexpected input carto throws errors of any type.
      throw new CartoError("The style cannot be compiled.", undefined, undefined);
    }
    const firstError = result.msg?.find((message) => message.type === "error");
    if (firstError || result.data === null) {
      const line = firstError?.line !== undefined && firstError.line > 0 ? firstError.line : undefined;
      const text =
        firstError?.message.replace(/\s+/g, " ").trim().slice(0, 300) ?? "The style cannot be compiled";
      throw new CartoError(/[.!?]$/.test(text) ? text : `${text}.`, firstError?.filename ?? undefined, line);
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

  private step(cost = 1): void {
    this.steps += cost;
    if (this.steps > maxSteps) throw new TooManySteps();
  }

  /** Carto has no limits, so the methods that its loops call are wrapped to count their cost. */
  private countSteps(): void {
    const wrap = <T>(
      type: keyof typeof carto.tree,
      method: string,
      cost: (self: T, args: readonly unknown[]) => number,
    ) => {
      const prototype = carto.tree[type].prototype;
      const original = prototype[method] as (...args: unknown[]) => unknown;
      const step = this.step.bind(this);
      prototype[method] = function (this: T, ...args: unknown[]) {
        step(cost(this, args));
        return original.apply(this, args);
      } as (typeof prototype)[string];
    };
    type Filters = { filters: object };
    type Rules = { rules: readonly unknown[] };
    const size = (set: unknown) => Object.keys((set as Filters).filters).length;
    wrap("Filterset", "cloneWith", () => 3);
    wrap("Filterset", "addable", () => 1);
    wrap<Filters>("Filterset", "add", (self) => 4 + 2 * size(self));
    wrap<Filters>("Filterset", "toString", (self) => 10 + 10 * size(self));
    wrap("Rule", "updateID", () => 5);
    wrap("Rule", "toObject", () => 40);
    wrap("Rule", "ev", () => 10);
    wrap<Rules>("Definition", "clone", (self) => 100 + 10 * self.rules.length);
    wrap("Definition", "addRules", (_self, [rules]) => 1 + (rules as readonly unknown[]).length);
    wrap<Rules>("Definition", "collectSymbolizers", (self) => 1 + self.rules.length);
    wrap("Variable", "ev", (_self, [env]) => 5 + ((env as Env).frames?.length ?? 0));
    wrap("Operation", "ev", () => 10);
    wrap("Call", "ev", () => 20);
    const error = carto.Util.error;
    carto.Util.error = (env: Env, message: unknown) => {
      // Only the first error is shown, and finding the lines of thousands would take long.
      if (++this.errors > 20) throw new Error("N/A");
      error.call(carto.Util, env, message);
    };
  }
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
