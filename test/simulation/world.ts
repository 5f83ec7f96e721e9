import "./machine.js";
import { requireRead } from "../../src/access/rights.js";
import { markedUnproven, refusedUnproven } from "../../src/api/request/public-answers.js";
import { tileHeaders } from "../../src/api/resources/tile-answer.js";
import { KeptTexts } from "../../src/catalog/kept-texts.js";
import type { Caller } from "../../src/catalog/state.js";
import { publicCaller } from "../../src/catalog/state.js";
import { keysOf } from "../../src/cdn/purger.js";
import type { Changed } from "../../src/cdn/state.js";
import { versionStep } from "../../src/changes/layer-version.js";
import { configSchema } from "../../src/config.js";
import { Failure } from "../../src/errors.js";
import type { TileCoord } from "../../src/geo/tile.js";
import { HostError } from "../../src/hosts/host.js";
import type { Headers } from "../../src/http/types.js";
import { type TilePath, wireTilePath } from "../../src/tile-path.js";
import { png } from "../../src/tiles/formats.js";
import { quietLog } from "../support/log.js";
import { cdnHeaders, pathOf, type Reading, read, repeatMs, SimulatedCdn, untoldMs } from "./cdn.js";
import {
  type DatabaseAccess,
  SimulatedDatabase,
  statistics,
  type Tables,
  viewerAccount,
} from "./database.js";
import { type Entry, Fact } from "./facts.js";
import { Link } from "./links.js";
import { boxOfCell, cells, cellsOf } from "./places.js";
import { SimulatedRedis } from "./redis.js";
import { Album, type Picture, SimulatedRender } from "./render.js";
import { type Owner, Random, Scheduler } from "./scheduler.js";

/**
 * A simulated installation: nodes that run the real tile path, clients that write and clients that request tiles, and an
 * oracle that checks that every tile shows the writes which were answered before its request.
 */

/** Parameters of a world. */
export interface Conditions {
  readonly seed: number;
  readonly nodes: number;
  /** Addresses that are requested. */
  readonly addresses: readonly Address[];
  /** Caches have room for two entries. */
  readonly small: boolean;
  /** Some notifications are delivered twice. */
  readonly doubled: boolean;
  /** Compiling some styles exceeds the deadline. */
  readonly slowStyles: boolean;
  /** Markers avoid collisions. */
  readonly colliding: boolean;
  /** Short latencies, and no faults. */
  readonly calm: boolean;
  /** There is a cache in front of the nodes. */
  readonly cdn: boolean;
  /** Duration of the steps. */
  readonly lengthMs: number;
  /** What nodes do that cannot tell whether they are current; absent = refuse. */
  readonly whenCutOff?: `serve:${number}`;
  /** Links break: what nobody could wait for need not be answered, and edits by SQL have to be seen soon. */
  readonly partitions?: boolean;
}

/** Parameters of a request for a tile. */
export interface Address {
  readonly raw: string;
  readonly map: string;
  readonly coord: TileCoord;
  readonly base: boolean;
  readonly layers: readonly number[] | undefined;
  readonly language: string | undefined;
}

export interface Node extends Owner {
  readonly name: string;
  readonly path: TilePath<Seen>;
  readonly access: DatabaseAccess;
  readonly redisLink: Link;
  /** Answers besides tiles that it keeps. */
  readonly texts: KeptTexts;
  readonly render: SimulatedRender;
  /** False before it has started and after it was stopped. */
  serving: boolean;
}

/** A request or write that is not answered yet. */
interface Open {
  /** Undefined: by SQL. */
  readonly node: Node | undefined;
  readonly what: () => string;
}

/** A failure that the oracle, or the run itself, has found. */
class Violation extends Error {}

/** After the database was replaced, nodes may serve cached state of the old one for less than this. */
const staleAfterFailoverMs = 3_000;
const styleDeadlineMs = 50;
/** A style that timed out is left out of plans for less than this. */
export const styleRetryMs = 11_000;
/** Edits by SQL are seen by all nodes after this, also by those that the database cannot tell of them. */
const seenAnywayMs = 6_000;

/** Parsed once, for speed. */
const config = configSchema.parse({});

interface LayerFacts {
  readonly mapId: number;
  /** undefined = deleted. */
  readonly style: Fact<string | undefined>;
  /** Whether the public may not read it. */
  readonly closed: Fact<boolean>;
  /** The last write by cell; 0 = none. */
  readonly cells: readonly Fact<number>[];
}

const viewer: Caller = { accountId: viewerAccount, login: "viewer", projectId: 1 };

export class World {
  readonly scheduler: Scheduler;
  readonly database: SimulatedDatabase;
  readonly redis: SimulatedRedis;
  readonly nodes: Node[] = [];
  readonly layers = new Map<number, LayerFacts>();
  readonly published = new Map<string, Fact<boolean>>();
  /** Events of the trace; their texts are only made for failures. */
  private readonly events: { readonly at: number; readonly text: () => string }[] = [];
  /** Requests and writes that are not answered yet. */
  readonly open = new Set<Open>();
  /** Requested addresses, the latest last. */
  readonly requested = new Set<Address>();
  readonly cdn: SimulatedCdn<CdnAnswer> | undefined;
  /** Number of rendered metatiles, and their different contents. */
  renders = 0;
  readonly contents = new Set<string>();
  private readonly album = new Album();
  /** Times of styles' timeouts, by node and style. */
  private readonly styleTimeouts = new Map<string, number>();
  private writes = 0;
  private requests = 0;
  private nodesMade = 0;
  violation: Violation | undefined;

  constructor(readonly conditions: Conditions) {
    this.scheduler = new Scheduler(conditions.seed, conditions.calm);
    const duplicates = new Random(conditions.seed, 77);
    this.database = new SimulatedDatabase(this.scheduler, () => conditions.doubled && duplicates.chance(0.2));
    this.redis = new SimulatedRedis(this.scheduler);
    this.cdn = conditions.cdn ? new SimulatedCdn() : undefined;
    this.fill();
  }

  /** Creates a base map of one layer, and a project of two maps with two layers each and one with statistics. */
  private fill(): void {
    const { tables } = this.database;
    const project = { revision: 1, closed: new Set<number>() };
    tables.projects.set(1, { ...project, id: 1, code: "p", hidden: false, base: true, closed: new Set() });
    tables.projects.set(2, { ...project, id: 2, code: "_base", hidden: true, base: false });
    const maps = [
      { id: 11, projectId: 1, code: "m", layers: [21, 22] },
      { id: 12, projectId: 1, code: "n", layers: [23, 24] },
      { id: 13, projectId: 2, code: "world", layers: [25] },
      { id: 14, projectId: 1, code: statistics.map, layers: [statistics.layerId] },
    ];
    for (const { id, projectId, code, layers } of maps) {
      tables.maps.set(id, { id, projectId, code, published: true, revision: 1 });
      this.published.set(code, new Fact(true));
      for (const layer of layers) {
        const style = this.newStyle();
        tables.layers.set(layer, {
          id: layer,
          mapId: id,
          code: `l${layer}`,
          style,
          version: nextVersion(0, this.scheduler.random),
          log: [],
          cells: new Map(),
        });
        this.layers.set(layer, {
          mapId: id,
          style: new Fact<string | undefined>(style),
          closed: new Fact(false),
          cells: cells.map(() => new Fact(0)),
        });
      }
    }
  }

  newStyle(): string {
    return `${this.conditions.colliding ? "c" : "s"}${++this.writes}`;
  }

  /** Starts a node; it serves when it has started. */
  startNode(): Node {
    const { scheduler, database, redis, album, conditions } = this;
    const name = `n${++this.nodesMade}`;
    const owner: Owner = { pausedUntil: 0, gone: false };
    const access = database.access(owner);
    const redisLink = new Link();
    const render = new SimulatedRender({
      scheduler,
      database,
      album,
      owner,
      compileMs: (random) =>
        conditions.slowStyles && random.chance(0.1)
          ? styleDeadlineMs + 20
          : random.below(styleDeadlineMs - 5),
      // In calm worlds this is still longer than the interval at which other nodes look for the tile in Redis.
      drawMs: (random) => {
        if (conditions.calm) return random.below(50);
        // Behind a CDN that is told again meanwhile.
        if (conditions.cdn && random.chance(0.2)) return repeatMs + random.below(2_000);
        return random.chance(0.1) ? random.below(900) : scheduler.latency();
      },
      onTimeout: (style) => this.styleTimeouts.set(`${name} ${style}`, scheduler.now),
      onFailure: () => {
        this.hadFailure ||= this.faulty;
      },
      onRender: (key) => this.rendered(key),
    });
    const path = wireTilePath<Seen>({
      config: {
        ...config,
        style: { deadlineMs: styleDeadlineMs },
        tiles: {
          ...config.tiles,
          ...(conditions.small ? { memoryBytes: 900, addressBytes: 1_200, planBytes: 9_000 } : {}),
        },
        catalog: { memoryBytes: conditions.small ? 3_000 : config.catalog.memoryBytes },
        ...(conditions.whenCutOff && { freshnessWhenCutOff: conditions.whenCutOff }),
      },
      db: access.database,
      redis: redis.client(owner, redisLink),
      render: render.calls,
      plugins: new Map(),
      // No layer is an image.
      blobs: { withLocalCopy: () => Promise.reject(new Error("there are no blobs")) },
      services: { image: () => Promise.reject(new Error("there are no external layers")) },
      nodeId: name,
      clock: scheduler.clock(owner),
      log: quietLog,
      pictures: { use: (_pictures, draw) => draw(new Map()) },
      thinnings: { want: () => undefined },
      icons: new Map(),
      on: {
        served: () => undefined,
        rendered: () => undefined,
        leftOut: () => undefined,
        catalogueChanged: () => undefined,
        noted: () => undefined,
        cdnPurged: () => undefined,
        purged: () => undefined,
        imported: () => undefined,
        historyChanged: () => render.renew(),
      },
    });
    const texts = new KeptTexts();
    const node: Node = Object.assign(owner, { name, path, access, redisLink, texts, render, serving: false });
    this.nodes.push(node);
    scheduler.after(
      0,
      () => {
        path.changes.start().then(() => {
          node.serving = true;
          this.note(() => `${name} serves`);
        });
      },
      owner,
    );
    return node;
  }

  /** Ends the process without cleanup. */
  kill(node: Node): void {
    this.note(() => `${node.name} is killed`);
    node.gone = true;
    node.serving = false;
    this.database.forget(node);
    this.redis.forget(node);
    for (const open of this.open) if (open.node === node) this.open.delete(open);
  }

  /** Ends a node gracefully. */
  stop(node: Node): void {
    this.note(() => `${node.name} is stopped`);
    node.serving = false;
    this.scheduler.after(0, () => void node.path.changes.stop().then(() => this.kill(node)), node);
  }

  private rendered(state: string): void {
    this.renders++;
    this.contents.add(state);
  }

  note(text: () => string): void {
    this.events.push({ at: this.scheduler.now, text });
  }

  /** The events, to understand a failure. */
  get trace(): readonly string[] {
    return this.events.map(({ at, text }) => `${at.toFixed(1).padStart(8)}  ${text()}`);
  }

  fail(text: string): void {
    this.note(() => `WRONG: ${text}`);
    this.violation ??= new Violation(text);
  }

  // Writes, through the API of a node or (undefined) by an SQL client.

  /** Writes an object in a cell. */
  write(layerId: number, cell: number, node: Node | undefined, done: () => void = () => undefined): void {
    const { scheduler } = this;
    const value = ++this.writes;
    const fact = this.layers.get(layerId)!.cells[cell]!;
    this.edit(
      () => `write ${value} to layer ${layerId} at ${cell}`,
      node,
      (tables) => {
        const layer = tables.layers.get(layerId);
        if (!layer) return undefined;
        layer.cells.set(cell, value);
        const previous = layer.version;
        layer.version = nextVersion(previous, scheduler.random);
        const { version } = layer;
        const area = boxOfCell(cell);
        layer.log = [...layer.log.slice(-20), { version, previous, area }];
        return {
          fact,
          entry: fact.committed(value),
          payloads: [`L ${layerId} ${version} ${previous} ${area.join(",")}`],
          changed: changeOf("layer", layerId, {
            version,
            purged: previous,
            map: layer.mapId,
            area: [...area],
          }),
        };
      },
      done,
    );
  }

  restyle(layerId: number, node: Node | undefined, done?: () => void): void {
    const style = this.newStyle();
    const { style: fact } = this.layers.get(layerId)!;
    this.edit(
      () => `style ${style} for layer ${layerId}`,
      node,
      (tables) => {
        const layer = tables.layers.get(layerId);
        if (!layer) return undefined;
        layer.style = style;
        raise(tables.maps.get(layer.mapId)!, this.scheduler.random);
        const changed = changeOf("map", layer.mapId);
        return { fact, entry: fact.committed(style), payloads: [`M ${layer.mapId}`], changed };
      },
      done,
    );
  }

  deleteLayer(layerId: number, node: Node | undefined, done?: () => void): void {
    const { style: fact } = this.layers.get(layerId)!;
    this.edit(
      () => `deletion of layer ${layerId}`,
      node,
      (tables) => {
        const layer = tables.layers.get(layerId);
        if (!layer) return undefined;
        tables.layers.delete(layerId);
        raise(tables.maps.get(layer.mapId)!, this.scheduler.random);
        const changed = changeOf("map", layer.mapId);
        return { fact, entry: fact.committed(undefined), payloads: [`M ${layer.mapId}`], changed };
      },
      done,
    );
  }

  publish(map: string, published: boolean, node: Node | undefined, done?: () => void): void {
    const fact = this.published.get(map)!;
    this.edit(
      () => `${published ? "publication" : "closing"} of ${map}`,
      node,
      (tables) => {
        const row = [...tables.maps.values()].find(({ code }) => code === map)!;
        row.published = published;
        raise(row, this.scheduler.random);
        const changed = changeOf("map", row.id);
        return { fact, entry: fact.committed(published), payloads: [`M ${row.id}`], changed };
      },
      done,
    );
  }

  close(layerId: number, closed: boolean, node: Node | undefined, done?: () => void): void {
    const { closed: fact } = this.layers.get(layerId)!;
    this.edit(
      () => `${closed ? "no right" : "right"} for all to read layer ${layerId}`,
      node,
      (tables) => {
        const project = tables.projects.get(1)!;
        if (closed) project.closed.add(layerId);
        else project.closed.delete(layerId);
        raise(project, this.scheduler.random);
        const changed = changeOf("project", project.id);
        return { fact, entry: fact.committed(closed), payloads: [`P ${project.id}`], changed };
      },
      done,
    );
  }

  private edit<T>(
    what: () => string,
    node: Node | undefined,
    work: (tables: Tables) =>
      | {
          readonly fact: Fact<T>;
          readonly entry: Entry<T>;
          readonly payloads: readonly string[];
          readonly changed: Changed;
        }
      | undefined,
    done: () => void = () => undefined,
  ): void {
    const { scheduler, database } = this;
    const who = node ? `on ${node.name}` : "by SQL";
    const open: Open = { node, what };
    if (node) this.open.add(open);
    scheduler.after(
      scheduler.latency(),
      () => {
        if (node?.gone) return;
        // Where nothing is committed nothing is answered.
        if (this.conditions.partitions && node && !node.access.reaches) return void this.open.delete(open);
        let made: ReturnType<typeof work>;
        const receipt = database.commit((tables) => {
          made = work(tables);
          return made?.payloads ?? [];
        }, node?.name);
        if (!made) return void this.open.delete(open);
        const { fact, entry } = made;
        const isWrite = made.payloads[0]!.startsWith("L");
        this.note(() => `${what()} is committed ${who}`);
        if (this.cdn) this.tellCdn(this.cdn, made.changed);
        if (!node) {
          if (this.conditions.partitions && this.isToldAnyway)
            scheduler.after(seenAnywayMs, () => fact.wasAnswered(entry, scheduler.now), undefined);
          return done();
        }
        scheduler.after(
          scheduler.latency(),
          () => {
            node.path.changes.propagate(isWrite ? receipt : undefined).then(
              () => {
                if (!this.open.delete(open)) return;
                this.note(() => `${what()} is answered ${who}`);
                fact.wasAnswered(entry, scheduler.now);
                done();
              },
              (error: Error) => {
                if (this.mayBeUnheard && error instanceof Failure && error.code === "outcome_unknown") {
                  this.note(() => `${what()} is not answered as done ${who}`);
                  this.open.delete(open);
                } else this.fail(`${what()}: propagating failed: ${error.stack}`);
              },
            );
          },
          node,
        );
      },
      undefined,
    );
  }

  /** A node tells the CDN of a change, as the purger does: when all nodes know of it, and again after a while. */
  private tellCdn(cdn: SimulatedCdn<CdnAnswer>, changed: Changed): void {
    const { scheduler } = this;
    const { id, kind } = changed;
    cdn.untold++;
    let isTold = false;
    const attempt = () => {
      if (isTold) return;
      scheduler.after(untoldMs, attempt, undefined);
      const leader = this.nodes.find(
        ({ serving, gone, pausedUntil }) => serving && !gone && pausedUntil <= scheduler.now,
      );
      if (!leader) return;
      const tell = async () => {
        try {
          await leader.path.changes.propagate();
        } catch {
          return;
        }
        const keys = (await keysOf([changed], { most: 100_000, turn: async () => undefined }))!;
        scheduler.after(scheduler.latency(), () => arrived(keys), undefined);
      };
      scheduler.after(scheduler.latency(), () => void tell(), leader);
    };
    const arrived = (keys: readonly string[]) => {
      if (isTold) return;
      isTold = true;
      this.note(() => `the CDN drops what is of ${kind} ${id}`);
      cdn.drop(keys);
      scheduler.after(
        repeatMs,
        () => {
          cdn.drop(keys);
          cdn.untold--;
        },
        undefined,
      );
    };
    attempt();
  }

  // Requests.

  /** Requests from the CDN what it may have kept. */
  askCdn(wanted: Address | Reading): void {
    const { cdn, scheduler } = this;
    const raw = typeof wanted === "string" ? pathOf(wanted, statistics) : wanted.raw;
    const nodes = this.nodes.filter(({ serving }) => serving);
    if (!cdn || nodes.length === 0 || cdn.kept.has(raw)) return;
    const node =
      this.silent?.serving && scheduler.random.chance(0.6) ? this.silent : scheduler.random.pick(nodes);
    const receive = (answer: CdnAnswer, headers: Headers, open?: Open) =>
      scheduler.after(
        scheduler.latency(),
        () => {
          if (open) this.open.delete(open);
          this.note(() => `the CDN receives ${raw} from ${node.name}: ${headers["cache-control"]}`);
          cdn.receive(raw, answer, headers);
        },
        undefined,
      );
    if (typeof wanted !== "string") {
      this.request(node, wanted, false, undefined, (seen) =>
        receive({ address: wanted, seen }, seen.headers ?? {}),
      );
      return;
    }
    const open: Open = { node, what: () => `${raw} on ${node.name} for the CDN` };
    this.open.add(open);
    const ask = () =>
      read(wanted, statistics, { ...node.path, db: node.access.database, texts: node.texts }).then(
        ({ value, headers }) => void receive({ value }, headers, open),
        (error: unknown) => {
          this.open.delete(open);
          // Else such an answer would never be kept by the CDN, and nothing could be wrong with it.
          if (!(error instanceof Failure)) this.fail(`${raw} is not answered: ${error}`);
        },
      );
    scheduler.after(scheduler.latency(), () => void ask(), node);
  }

  /** Checks that the CDN has nothing old, when it was told of all. */
  checkCdn(): void {
    const facts = this.layers.get(statistics.layerId)!;
    for (const [raw, { answer }] of this.cdn?.kept ?? []) {
      const now = { askedAt: this.scheduler.now, signedIn: false, node: { name: "the CDN" }, number: 0 };
      if ("seen" in answer)
        this.judge(answer.address, answer.seen, { ...now, marks: this.marks(answer.address) });
      else if (this.published.get(statistics.map)!.last !== true || facts.closed.last)
        this.fail(`the CDN keeps ${raw}, which is not public`);
      else if (facts.cells[0]!.last !== answer.value)
        this.fail(`the CDN keeps ${raw} with write ${answer.value} of ${facts.cells[0]!.last}`);
    }
  }

  /** Requests a tile from a node, as the public or as a signed-in user. */
  request(
    node: Node,
    address: Address,
    signedIn: boolean,
    abortAfterMs?: number,
    sent: (seen: Seen) => void = () => undefined,
  ): void {
    const { scheduler } = this;
    const askedAt = scheduler.now;
    const marks = this.marks(address);
    const number = ++this.requests;
    const { raw } = address;
    this.requested.delete(address);
    this.requested.add(address);
    const open: Open = { node, what: () => `${raw} #${number} on ${node.name}` };
    this.open.add(open);
    const abort = new AbortController();
    const end = (outcome: Outcome) => {
      if (!this.open.delete(open)) return;
      this.note(() => `#${number} is answered: ${shown(outcome)}`);
      if (!("error" in outcome)) sent(outcome);
      this.judge(address, outcome, { marks, askedAt, signedIn, node, number });
    };
    scheduler.after(
      scheduler.latency(),
      () => {
        this.note(() => `#${number} is sent to ${node.name}: ${raw}${signedIn ? ", signed in" : ""}`);
        const ready = signedIn ? undefined : node.path.answers.ready(raw);
        if (ready) return end(ready);
        const unprovenSince = node.path.changes.watchProof();
        node.path.answers
          .make({
            access: async () => {
              const map = await node.path.catalog.map("p", address.map);
              const caller = signedIn ? viewer : publicCaller;
              requireRead(map, caller);
              return { map, caller, publicAddress: signedIn ? undefined : raw };
            },
            address: { ...address, scale: 1, format: png, quality: 0 },
            client: "",
            signal: () => abort.signal,
            answer: (drawn) => ({
              picture: this.album.picture(drawn.tile.bytes),
              missing: new Set(drawn.tile.missing?.map(({ id }) => id)),
              headers: this.cdn && tileHeaders({ cdnHeaders }, drawn, address.coord, ""),
            }),
            bytes: () => 100,
          })
          .then(
            (seen) => end(marked(seen, unprovenSince())),
            (error: Error) => end({ error: refusedUnproven(error, unprovenSince()) as Error }),
          );
        if (abortAfterMs !== undefined)
          scheduler.after(abortAfterMs, () => abort.abort(new Error("left")), node);
      },
      node,
      abort,
    );
  }

  /** @param at absent = now */
  private marks(address: Address, at?: number): Marks {
    const markOf = (fact: Fact<never>): number => (at === undefined ? fact.mark() : fact.markAt(at));
    const layers = new Map<number, LayerMarks>();
    for (const [id, facts] of this.layers) {
      if (!this.isOf(address, facts)) continue;
      layers.set(id, {
        style: markOf(facts.style as Fact<never>),
        closed: markOf(facts.closed as Fact<never>),
        cells: facts.cells.map((cell) => markOf(cell as Fact<never>)),
      });
    }
    return { published: markOf(this.published.get(address.map)! as Fact<never>), layers };
  }

  private isOf(address: Address, { mapId }: LayerFacts): boolean {
    const code = { 11: "m", 12: "n", 13: "world", 14: statistics.map }[mapId];
    return code === address.map || (code === "world" && address.base);
  }

  /** Checks an answer against the oldest values that it may show. */
  private judge(address: Address, outcome: Outcome, asked: Asked): void {
    const { askedAt, signedIn, node, number } = asked;
    let { marks } = asked;
    const freshAt = "headers" in outcome ? outcome.headers?.["x-fresh-at"] : undefined;
    if (freshAt !== undefined) {
      // It says when it was current, and is that old.
      marks = this.marks(address, Date.parse(freshAt));
      if (!/no-store/.test((outcome as Seen).headers?.["cache-control"] ?? ""))
        this.fail(
          `#${number} ${address.raw} on ${node.name}: may be kept, though it was current at ${freshAt}`,
        );
    }
    const wrong = (text: string) => this.fail(`#${number} ${address.raw} on ${node.name}: ${text}`);
    const published = this.published.get(address.map)!;
    if ("error" in outcome) {
      const { error } = outcome;
      if (error.message === "left") return;
      if (error instanceof Failure && error.kind === "forbidden") {
        if (signedIn || !published.allows(false, marks.published, askedAt))
          wrong("forbidden, though it is public");
      } else if (!this.isTrouble(error)) wrong(`failed: ${error.stack}`);
      return;
    }
    if (!signedIn && !published.allows(true, marks.published, askedAt))
      wrong("answered, though it is not public");
    const { picture, missing } = outcome;
    for (const [id, facts] of this.layers) {
      if (!this.isOf(address, facts)) continue;
      const isBase = facts.mapId === 13;
      const layerMarks = marks.layers.get(id)!;
      const drawn = picture.find((layer) => layer.id === id);
      const wanted = isBase || !address.layers || address.layers.includes(id);
      if (!drawn) {
        const isHidden =
          !wanted ||
          facts.style.allows(undefined, layerMarks.style, askedAt) ||
          (!signedIn && facts.closed.allows(true, layerMarks.closed, askedAt)) ||
          (missing.has(id) && (this.faulty || this.hadTimeout(node, facts, askedAt)));
        if (!isHidden) wrong(`layer ${id} is missing`);
        continue;
      }
      if (!wanted) wrong(`layer ${id} was not requested`);
      if (!signedIn && !facts.closed.allows(false, layerMarks.closed, askedAt))
        wrong(`layer ${id} is not public`);
      if (!facts.style.allows(drawn.style, layerMarks.style, askedAt))
        wrong(`layer ${id} has the old style ${drawn.style}`);
      const seen = new Map(drawn.cells);
      for (const cell of cellsOf(address.coord)) {
        const value = seen.get(cell) ?? 0;
        if (!facts.cells[cell]!.allows(value, layerMarks.cells[cell]!, askedAt))
          wrong(`layer ${id} shows write ${value} at ${cell}`);
      }
    }
  }

  private hadTimeout(node: Pick<Node, "name">, facts: LayerFacts, askedAt: number): boolean {
    for (const [key, at] of this.styleTimeouts) {
      const [name, style] = key.split(" ");
      if (name === node.name && askedAt < at + styleRetryMs && facts.style.everHad(style)) return true;
    }
    return false;
  }

  /** Whether an error is expected because of the faults. */
  private isTrouble(error: Error): boolean {
    return (
      this.faulty &&
      (error.message === "connection lost" ||
        error.message === "connection refused" ||
        error instanceof HostError ||
        (error instanceof Failure && (error.code === "busy" || error.code === "internal")))
    );
  }

  /** Whether requests may fail because of faults. */
  faulty = false;

  /** Whether a layer could not be drawn meanwhile: for a while it is left out, and named as missing, without being tried. */
  hadFailure = false;

  /** When all nodes can reach the database again. */
  cutUntil = 0;

  /** Whether some node may not be told of an edit, nor warned. */
  mayBeUnheard = false;

  /** Whether some node that has the database can leave word in Redis, so that changes by SQL become known everywhere. */
  isToldAnyway = true;

  // Faults.

  /** A node that does not answer other nodes for long; it gets requests, and writes go to others. */
  silent: Node | undefined;

  /** The last copy of the database. */
  copy: DatabaseCopy | undefined;

  /** Replaces the database by a standby that lagged, or by a copy of its files. */
  replaceDatabase(copy: DatabaseCopy, asFiles: boolean): void {
    this.note(() =>
      asFiles ? "the database's files are restored" : "the database is replaced by a standby that lagged",
    );
    this.faulty = true;
    const until = this.scheduler.now + staleAfterFailoverMs;
    for (const [fact, length] of copy.lengths) fact.rewind(length, this.scheduler.now, until);
    this.database.replace({ tables: copy.tables.copy(), asFiles });
  }

  copyDatabase(): DatabaseCopy {
    const lengths = new Map<Fact<unknown>, number>();
    const facts = [
      ...this.published.values(),
      ...[...this.layers.values()].flatMap(({ style, closed, cells }) => [style, closed, ...cells]),
    ] as Fact<unknown>[];
    for (const fact of facts) lengths.set(fact, fact.length);
    return { tables: this.database.tables.copy(), lengths };
  }

  /** From now on answers must show all committed values. */
  requireLatest(): void {
    this.note(() => "all is quiet");
    for (const fact of this.published.values()) fact.lastWasAnswered();
    for (const { style, closed, cells } of this.layers.values())
      for (const fact of [style, closed, ...cells] as Fact<unknown>[]) fact.lastWasAnswered();
  }
}

/** A copy of the database. */
export interface DatabaseCopy {
  readonly tables: Tables;
  readonly lengths: ReadonlyMap<Fact<unknown>, number>;
}

/** An answer: what it shows, and the layers that it names as missing. */
interface Seen {
  readonly picture: Picture;
  readonly missing: ReadonlySet<number>;
  /** For the CDN. */
  readonly headers?: Headers | undefined;
}
type CdnAnswer = { readonly address: Address; readonly seen: Seen } | { readonly value: number };
type Outcome = Seen | { readonly error: Error };

interface LayerMarks {
  readonly style: number;
  readonly closed: number;
  readonly cells: readonly number[];
}
interface Marks {
  readonly published: number;
  readonly layers: ReadonlyMap<number, LayerMarks>;
}
interface Asked {
  readonly marks: Marks;
  readonly askedAt: number;
  readonly signedIn: boolean;
  readonly node: Pick<Node, "name">;
  readonly number: number;
}

/** The answer as it is sent. */
function marked(seen: Seen, unprovenSince: number | undefined): Seen {
  if (unprovenSince === undefined) return seen;
  const { headers } = markedUnproven({ kind: "bytes", body: "", headers: seen.headers ?? {} }, unprovenSince);
  return { ...seen, headers };
}

const changeOf = (kind: Changed["kind"], id: number, more: Partial<Changed> = {}): Changed => ({
  ...{ kind, id, version: 2, purged: 1, map: null, isWide: false, area: null },
  ...more,
});

/** As in the trigger. */
const nextVersion = (version: number, random: Random): number =>
  (Math.floor(version / versionStep) + 1) * versionStep + random.below(versionStep);

/** As in the triggers. */
function raise(row: { revision: number }, random: Random): void {
  row.revision += 1 + random.below(2 ** 20);
}

export function addressOf(asked: Omit<Address, "raw">): Address {
  const {
    map,
    coord: { z, x, y },
    base,
    layers,
    language,
  } = asked;
  const raw = `${map}/${z}/${x}/${y}${base ? "" : " base=0"}${layers ? ` layers=${layers.join(",")}` : ""}${language ? ` lng=${language}` : ""}`;
  return { ...asked, raw };
}

const shown = (outcome: Outcome): string =>
  "error" in outcome
    ? outcome.error.message
    : outcome.picture
        .map(
          ({ id, style, cells }) =>
            `${id} ${style} ${cells.map(([cell, write]) => `${cell}=${write}`).join(" ")}`,
        )
        .join(", ");
