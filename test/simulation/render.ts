import { busy } from "../../src/errors.js";
import { HostError } from "../../src/hosts/host.js";
import type {
  CompileRequest,
  CompileResponse,
  MapSource,
  MetatileRequest,
  MetatileResponse,
} from "../../src/hosts/messages.js";
import { xmlOf } from "../../src/style/mapnik-xml.js";
import type { RenderCalls } from "../../src/tile-path.js";
import type { Connected, SimulatedDatabase } from "./database.js";
import { placesOf } from "./places.js";
import type { Owner, Random, Scheduler } from "./scheduler.js";

/**
 * A simulated render host. It takes any time, and reads each layer at a different time, so that a picture may show one layer
 * before a write and another after it. The bytes of a tile identify its picture.
 */

/** A layer in a picture. */
export interface DrawnLayer {
  readonly id: number;
  readonly style: string;
  /** The last write by cell. */
  readonly cells: readonly (readonly [cell: number, write: number])[];
}
/** The layers of a tile, from bottom to top. */
export type Picture = readonly DrawnLayer[];

/** Maps pictures to bytes and back; equal pictures have equal bytes. */
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
  /** Duration of compiling a style. */
  readonly compileMs: (random: Random) => number;
  /** Duration of drawing after all layers were read. */
  readonly drawMs: (random: Random) => number;
  /** Compiling a style exceeded its deadline. */
  readonly onTimeout: (style: string) => void;
  /** A layer could not be drawn: its table is not there. */
  readonly onFailure: () => void;
  /** Rendering of a metatile with this content begins. */
  readonly onRender: (state: string) => void;
}

interface SourceLayer {
  readonly id: number;
  readonly style: string;
}
const layerPattern = /<Style name="l(\d+)\/"><Rule><(?:Line|Markers)Symbolizer stroke="([^"]*)"/g;
const parsed = new Map<string, readonly SourceLayer[]>();

/** Layers of a map's XML, from bottom to top. */
function layersOf(source: MapSource): readonly SourceLayer[] {
  let layers = parsed.get(source.digest);
  if (!layers) {
    layers = [...xmlOf(source).matchAll(layerPattern)].map(([, id, style = ""]) => ({
      id: Number(id),
      style,
    }));
    if (parsed.size > 10_000) parsed.clear();
    parsed.set(source.digest, layers);
  }
  return layers;
}

/** Concurrent tasks of the host. */
const concurrency = 3;

export class SimulatedRender {
  /** Cache of the base map's pictures. */
  private bases = new Map<string, Picture>();
  private incarnation = 0;
  /** The database of its connections, which are opened on demand and kept. */
  private connected: Connected | undefined;
  private compiling: Promise<void> = Promise.resolve();
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly options: RenderOptions) {}

  /** Restarts the process. */
  renew(): void {
    this.incarnation++;
    this.connected = undefined;
    this.bases.clear();
  }

  readonly calls = {
    call: (kind: string, request: unknown, options: { deadlineMs: number; signal?: AbortSignal }) =>
      this.queued<unknown>(() =>
        kind === "compile"
          ? this.compile(request as CompileRequest, options.deadlineMs)
          : this.metatile(request as MetatileRequest),
      ),
  } as unknown as RenderCalls;

  private async queued<T>(work: () => Promise<T>): Promise<T> {
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

  /** Styles are compiled one after the other. The host's deadline includes the wait; the style's does not. */
  private async compile(request: CompileRequest, hostDeadlineMs: number): Promise<CompileResponse> {
    const { scheduler, compileMs, onTimeout } = this.options;
    const style = request.layerStyle ?? "";
    const startedAt = scheduler.now;
    const takes = compileMs(scheduler.random);
    const before = this.compiling;
    const own = before.then(() => this.sleep(Math.min(takes, request.deadlineMs)));
    this.compiling = own;
    await own;
    if (takes > request.deadlineMs) {
      onTimeout(style);
      return { ok: false, error: "too long", deadline: true };
    }
    if (scheduler.now - startedAt > hostDeadlineMs) throw new HostError("deadline", "too long");
    // Markers avoid collisions, so a tile's picture depends on its whole metatile.
    const type = style.startsWith("c") ? ("MarkersSymbolizer" as const) : ("LineSymbolizer" as const);
    const symbolizers = [{ type, attributes: { stroke: style } }];
    const styles = [{ name: "", attributes: {}, rules: [{ symbolizers }] }];
    return { ok: true, style: { styles, fields: [], bufferPixels: 1 }, map: {} };
  }

  private metatile(request: MetatileRequest): Promise<MetatileResponse> {
    this.options.onRender(this.stateOf(request));
    return this.drawMetatile(request);
  }

  private async drawMetatile(request: MetatileRequest): Promise<MetatileResponse> {
    const { scheduler } = this.options;
    const { random } = scheduler;
    const { incarnation } = this;
    const { origin, count } = request;
    await this.sleep(scheduler.latency());
    const whole: DrawnLayer[] = [];
    for (const part of mapsOf(request)) {
      const drawn =
        part.keep === undefined
          ? this.draw(layersOf(part.map), part.without)
          : this.base(`${part.map.digest} ${part.keep} ${origin.z}/${origin.x}/${origin.y}`, part);
      whole.push(...(await drawn));
    }
    await this.sleep(this.options.drawMs(random));
    // What a host is ended over that is not to blame is drawn again.
    if (incarnation !== this.incarnation) return this.drawMetatile(request);
    const blank = this.tileOf(whole, []);
    const tiles = placesOf(origin, count).map((seen) =>
      seen.length === 0 ? blank : this.tileOf(whole, seen),
    );
    return { tiles, encoded: tiles.length, renderMs: 1 };
  }

  private tileOf(whole: Picture, seen: readonly number[]): MetatileResponse["tiles"][number] {
    const picture = whole.map((layer) => ({
      ...layer,
      cells: layer.cells.filter(([cell]) => seen.includes(cell)),
    }));
    const { bytes, hash } = this.options.album.bytes(picture);
    return { bytes, hash, ...(picture.every((layer) => layer.cells.length === 0) ? { solid: 1 } : {}) };
  }

  /** The content of a picture that is begun now. Rendering the same content twice is unnecessary work. */
  private stateOf(request: MetatileRequest): string {
    const { origin, count } = request;
    const { layers } = this.options.database.tables;
    const seen = placesOf(origin, count).flat();
    const drawn = mapsOf(request).flatMap(({ map }) => [
      map.digest,
      ...layersOf(map).map(({ id }) => seen.map((cell) => layers.get(id)?.cells.get(cell) ?? 0).join(",")),
    ]);
    return `${origin.z}/${origin.x}/${origin.y} ${drawn.join(" ")}`;
  }

  private async base(key: string, { map, without }: MapPart): Promise<Picture> {
    const { incarnation } = this;
    let picture = this.bases.get(key);
    if (!picture) {
      picture = await this.draw(layersOf(map), without);
      if (incarnation === this.incarnation) this.bases.set(key, picture);
    }
    return picture;
  }

  private async draw(layers: readonly SourceLayer[], without: readonly string[] = []): Promise<Picture> {
    const { scheduler, database } = this.options;
    const drawn: DrawnLayer[] = [];
    for (const { id, style } of layers) {
      if (without.includes(`l${id}`)) {
        drawn.push({ id, style, cells: [] });
        continue;
      }
      await this.sleep(scheduler.latency());
      if (!this.connected?.alive) this.connected = database.connect();
      const row = this.connected.tables.layers.get(id);
      if (!row) {
        this.options.onFailure();
        throw new HostError("failed", `relation "layers.l${id}" does not exist`);
      }
      drawn.push({ id, style, cells: [...row.cells] });
    }
    return drawn;
  }
}

type MapPart = Extract<MetatileRequest["parts"][number], { kind: "map" }>;

const mapsOf = ({ parts }: MetatileRequest) => parts.filter((part) => part.kind === "map");
