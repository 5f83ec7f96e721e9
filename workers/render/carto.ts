import carto, { type Env } from "carto";
import mapnikReference from "mapnik-reference";
import { StyleError } from "../../src/style/lexer.js";

/** One text of CartoCSS for the compiler. */
export interface Source {
  /** Stands before the line number in messages. */
  readonly id: string;
  readonly text: string;
}

/** An element of the XML that carto would write, before it is written: its escaping of texts is not to be trusted. */
export interface CartoNode {
  readonly _name?: string;
  readonly _attributes?: Readonly<Record<string, unknown>>;
  readonly _content?: unknown;
}

/** What carto says is wrong with a style. */
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

/** Ends a compilation that has done more than any style needs. */
class Exhausted extends Error {}

/**
 * Steps of work that compiling one style may take: some 0.1 µs each, so that it ends well within its deadline. Filters multiply, so that a few hundred bytes
 * can mean hours of work and gigabytes of rules; a style with a thousand classes takes two thirds of this.
 */
const mostSteps = 6_000_000;

/** Marks the end of a stylesheet: carto leaves out what follows something that it cannot read, without a word. */
const endMark = (index: number): string => `end-of-source-${index}`;
const mostSources = 3;

export class Carto {
  private steps = 0;
  private errors = 0;
  private readonly reference = loadReference();

  constructor() {
    this.countSteps();
  }

  /** Starts the count of steps anew; several runs for one style share them. */
  begin(): void {
    this.steps = 0;
    this.errors = 0;
  }

  /**
   * Compiles sources, in the order of their precedence, for layers of these ids, all of the class `layer`; no
   * layers: for the map's properties alone.
   * @throws CartoError with carto's first complaint
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
      if (error instanceof Exhausted) {
        throw new CartoError(
          "The style is too complicated: its filters combine to too many cases.",
          undefined,
          undefined,
        );
      }
      // Carto meets input that it does not expect with errors of every kind.
      throw new CartoError("The style cannot be compiled.", undefined, undefined);
    }
    const complaint = result.msg?.find((message) => message.type === "error");
    if (complaint || result.data === null) {
      const line = complaint?.line !== undefined && complaint.line > 0 ? complaint.line : undefined;
      const text =
        complaint?.message.replace(/\s+/g, " ").trim().slice(0, 300) ?? "The style cannot be compiled";
      throw new CartoError(/[.!?]$/.test(text) ? text : `${text}.`, complaint?.filename ?? undefined, line);
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
    if (this.steps > mostSteps) throw new Exhausted();
  }

  /** Carto has no limits of its own, so the methods that its loops call are wrapped with a count of their cost. */
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
      // One complaint is enough for the author; finding the line of each of thousands takes long.
      if (++this.errors > 20) throw new Error("N/A");
      error.call(carto.Util, env, message);
    };
  }
}

/** What carto knows of Mapnik, read once, with our end marks and without what we do not insist on. */
function loadReference() {
  const version = "3.0.22";
  const data = mapnikReference.load(version);
  const map = data.symbolizers.map;
  const face = data.symbolizers.text?.["face-name"];
  if (!map || !face) throw new Error(`mapnik-reference ${version} has another form than expected.`);
  for (let index = 0; index < mostSources; index++)
    map[endMark(index)] = { css: endMark(index), type: "float" };
  face.required = false;
  return { latest: version, versions: [version], load: () => data };
}
