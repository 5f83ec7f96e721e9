import { busy } from "../../src/errors.js";
import { HostError } from "../../src/hosts/host.js";
import type {
  CompileRequest,
  CompileResponse,
  MapSource,
  MetatileRequest,
  MetatileResponse,
} from "../../src/hosts/messages.js";
import type { RenderCalls } from "../../src/tile-path.js";
import type { Connected, SimulatedDatabase } from "./database.js";
import { placesOf } from "./places.js";
import type { Owner, Random, Scheduler } from "./scheduler.js";

/**
 * A simulated render host: it takes any time, and reads each layer at some moment of it, so that a picture may show one
 * layer before an edit and another after it. What a tile shows can be told from its bytes.
 */

/** One layer in a picture. */
export interface DrawnLayer {
  readonly id: number;
  readonly style: string;
  /** The writes that are seen, by place. */
  readonly cells: readonly (readonly [cell: number, write: number])[];
}
/** What a tile shows, from the bottom to the top. */
export type Picture = readonly DrawnLayer[];

/** Pictures and their bytes: the same picture has the same bytes, in all processes. */
export class Album {
  private readonly pictures: Picture[] = [];
  private readonly indexes = new Map<string, number>();

  bytes(picture: Picture): { readonly bytes: Uint8Array; readonly hash: string } {
    const key = JSON.stringify(picture);
    let index = this.indexes.get(key);
    if (index === undefined) {
      index = this.pictures.push(picture) - 1;
      this.indexes.set(key, index);
    }
    return { bytes: Uint8Array.of(index & 255, index >> 8), hash: `h${index}`.padEnd(20, "-") };
  }

  picture(bytes: Uint8Array): Picture {
    return this.pictures[bytes[0]! + (bytes[1]! << 8)]!;
  }
}

export interface RenderOptions {
  readonly scheduler: Scheduler;
  readonly database: SimulatedDatabase;
  readonly album: Album;
  readonly owner: Owner;
  /** Time that compiling takes. */
  readonly compileMs: (random: Random) => number;
  /** Time that drawing takes when all has been read. */
  readonly drawMs: (random: Random) => number;
  /** A style took longer than its deadline, by itself. */
  readonly onUndecided: (style: string) => void;
  /** A metatile is begun, of this state. */
  readonly onRender: (state: string) => void;
}

interface SourceLayer {
  readonly id: number;
  readonly style: string;
}
const layerPattern = /<Style name="l(\d+)\/"><Rule><(?:Line|Markers)Symbolizer stroke="([^"]*)"/g;
const parsed = new Map<string, readonly SourceLayer[]>();

/** Layers of a map's XML, from the bottom to the top. */
function layersOf({ digest, xml }: MapSource): readonly SourceLayer[] {
  let layers = parsed.get(digest);
  if (!layers) {
    layers = [...xml.matchAll(layerPattern)].map(([, id, style = ""]) => ({ id: Number(id), style }));
    if (parsed.size > 10_000) parsed.clear();
    parsed.set(digest, layers);
  }
  return layers;
}

/** Tasks that the child has at once. */
const concurrency = 3;

export class SimulatedRender {
  /** The base map's layers as they were drawn, by what they were asked by. */
  private bases = new Map<string, Picture>();
  private incarnation = 0;
  /** What its connections lead to: opened at the first need, and kept. */
  private connected: Connected | undefined;
  private compiling: Promise<void> = Promise.resolve();
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: RenderOptions) {}

  /** Another process takes its place. */
  renew(): void {
    this.incarnation++;
    this.connected = undefined;
    this.bases.clear();
  }

  readonly calls = {
    call: (kind: string, request: unknown, options: { deadlineMs: number; signal?: AbortSignal }) =>
      this.given<unknown>(() =>
        kind === "compile"
          ? this.compile(request as CompileRequest, options.deadlineMs)
          : this.metatile(request as MetatileRequest),
      ),
  } as unknown as RenderCalls;

  private async given<T>(work: () => Promise<T>): Promise<T> {
    if (this.waiting.length > 500) throw busy("too much");
    if (this.running >= concurrency) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.running++;
    try {
      return await work();
    } finally {
      this.running--;
      this.waiting.shift()?.();
    }
  }

  private sleep(ms: number): Promise<void> {
    const { scheduler, owner } = this.options;
    return new Promise((resolve) => void scheduler.after(ms, resolve, owner));
  }

  /** One thread compiles; the host's own deadline counts from when it was given the task. */
  private async compile(request: CompileRequest, hostDeadlineMs: number): Promise<CompileResponse> {
    const { scheduler, compileMs, onUndecided } = this.options;
    const style = request.layerStyle ?? "";
    const given = scheduler.now;
    const takes = compileMs(scheduler.random);
    const before = this.compiling;
    const own = before.then(() => this.sleep(Math.min(takes, request.deadlineMs)));
    this.compiling = own;
    await own;
    if (takes > request.deadlineMs) {
      onUndecided(style);
      return { ok: false, error: "too long", deadline: true };
    }
    if (scheduler.now - given > hostDeadlineMs) throw new HostError("deadline", "too long");
    // Symbols that give way to each other make a picture depend on its whole metatile.
    const type = style.startsWith("c") ? ("MarkersSymbolizer" as const) : ("LineSymbolizer" as const);
    const symbolizers = [{ type, attributes: { stroke: style } }];
    const styles = [{ name: "", attributes: {}, rules: [{ symbolizers }] }];
    return { ok: true, style: { styles, fields: [], bufferPixels: 1 }, map: {} };
  }

  private async metatile(request: MetatileRequest): Promise<MetatileResponse> {
    const { scheduler, onRender } = this.options;
    const { random } = scheduler;
    const { incarnation } = this;
    const { origin, count } = request;
    onRender(this.stateOf(request));
    await this.sleep(scheduler.latency());
    const below = request.base ? await this.base(request) : [];
    const above = await this.draw(layersOf(request.map));
    await this.sleep(this.options.drawMs(random));
    if (incarnation !== this.incarnation) throw new HostError("died", "the host was replaced");
    const whole = [...below, ...above];
    const blank = this.tileOf(whole, []);
    const tiles = placesOf(origin, count).map((seen) =>
      seen.length === 0 ? blank : this.tileOf(whole, seen),
    );
    return { tiles, renderMs: 1 };
  }

  private tileOf(whole: Picture, seen: readonly number[]): MetatileResponse["tiles"][number] {
    const picture = whole.map((layer) => ({
      ...layer,
      cells: layer.cells.filter(([cell]) => seen.includes(cell)),
    }));
    const { bytes, hash } = this.options.album.bytes(picture);
    return { bytes, hash, ...(picture.every((layer) => layer.cells.length === 0) ? { solid: 1 } : {}) };
  }

  /** What a picture that is begun now would show, in the least: two of one state are one too many. */
  private stateOf({ map, base, origin, count }: MetatileRequest): string {
    const { layers } = this.options.database.tables;
    const seen = placesOf(origin, count).flat();
    const drawn = [map, ...(base ? [base] : [])].flatMap((source) =>
      layersOf(source).map(({ id }) => seen.map((cell) => layers.get(id)?.cells.get(cell) ?? 0).join(",")),
    );
    return `${map.digest} ${base?.digest} ${origin.z}/${origin.x}/${origin.y} ${drawn.join(" ")}`;
  }

  private async base(request: MetatileRequest): Promise<Picture> {
    const { origin } = request;
    const { digest, versions } = request.base!;
    const key = `${digest} ${versions} ${origin.z}/${origin.x}/${origin.y}`;
    const { incarnation } = this;
    let picture = this.bases.get(key);
    if (!picture) {
      picture = await this.draw(layersOf(request.base!));
      if (incarnation === this.incarnation) this.bases.set(key, picture);
    }
    return picture;
  }

  private async draw(layers: readonly SourceLayer[]): Promise<Picture> {
    const { scheduler, database } = this.options;
    const drawn: DrawnLayer[] = [];
    for (const { id, style } of layers) {
      await this.sleep(scheduler.latency());
      if (!this.connected?.alive) this.connected = database.connect();
      const row = this.connected.tables.layers.get(id);
      if (!row) throw new HostError("failed", `relation "layers.l${id}" does not exist`);
      drawn.push({ id, style, cells: [...row.cells] });
    }
    return drawn;
  }
}
