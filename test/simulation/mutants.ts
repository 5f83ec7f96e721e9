/** Mutation tests: faults in one or two lines of the tile path that the simulation must find. The first ones were real bugs. */

export interface Mutant {
  readonly name: string;
  /** Path below `src`, without extension. */
  readonly file: string;
  /** Texts that occur once in the file, with their replacements. */
  readonly replace: readonly (readonly [from: string, to: string])[];
  /** The seed to begin with, less than `window` before one that finds it: worlds that find nothing only take time. */
  readonly first?: number;
}

/** Of so many worlds, from its first, one finds a mutant: the unchanged program plays them, too. */
export const window = 20;

export const mutants: readonly Mutant[] = [
  {
    name: "an answer is cached although its layers changed while it was rendered",
    file: "tiles/answers",
    replace: [["isPlanCurrent(plan) && tiles.isCurrent(plan, address.coord, tile)", "true"]],
  },
  {
    name: "a version that is in use is dropped, and receives no more changes",
    file: "changes/weak-by-id",
    replace: [
      [
        "this.held.set(id, held);",
        "this.held.set(id, held); if (this.held.size > 2) this.held.delete([...this.held.keys()][0]!);",
      ],
    ],
  },
  {
    name: "styles are sent to the host all at once, and a plan without one that timed out is cached",
    file: "style/compiler",
    replace: [
      ["await mutex.acquire({ owner: owner.project, urgent: owner.stored })", "() => undefined"],
      ["response.deadline ? new StyleTimeout(response.error) :", ""],
      ['"compile", request, { deadlineMs }', '"compile", request, { deadlineMs: deadlineMs - 3_000 }'],
    ],
  },
  {
    name: "a plan without a style that timed out is cached",
    first: 301,
    file: "tiles/assemble",
    replace: [["missing.length === 0 && map.complete", "map.complete"]],
  },
  {
    name: "versions of another history of the database are kept",
    file: "changes/change-log",
    replace: [["if (epoch === this.epoch) return;", 'if (this.epoch !== "") return;']],
  },
  {
    name: "versions that diverged in another history are not detected",
    first: 1_021,
    file: "changes/history",
    replace: [["diverged: hasDiverged(known[index]!.version, version, next)", "diverged: false"]],
  },
  {
    name: "a layer is left out where it has got objects",
    file: "changes/layer-version",
    replace: [["this.extent = extended(this.extent, kept.area);", "void 0;"]],
  },
  {
    name: "an extent forgets what changed while it was read",
    first: 471,
    file: "changes/layer-version",
    replace: [["this.extent = extended(this.extent, area);", "void area;"]],
  },
  {
    name: "a write is answered although its node has not received it",
    first: 61,
    file: "changes/propagation",
    replace: [
      [
        "return new Promise((resolve, reject) => this.wait(receipt, resolve, reject));",
        "return Promise.resolve();",
      ],
    ],
  },
  {
    name: "a write does not wait for other nodes",
    file: "changes/propagation",
    replace: [["wait.missing = new Set(this.members);", "wait.missing = new Set();"]],
  },
  {
    name: "an acknowledgement of one node counts for all",
    first: 121,
    file: "changes/propagation",
    replace: [["wait.missing?.delete(from);", "wait.missing?.clear();"]],
  },
  {
    name: "a dropped node is removed before its lease has expired",
    first: 571,
    file: "changes/propagation",
    replace: [
      [
        "this.options.clock.after(expiryMs, () => void this.expire(node, drop))",
        "this.options.clock.after(0, () => void this.expire(node, drop))",
      ],
    ],
  },
  {
    name: "a node's lease never expires",
    first: 4_491,
    file: "changes/listener",
    replace: [["!this.open || hasExpired(clock, this.verifiedAt)", "!this.open"]],
  },
  {
    name: "a lease goes on while the machine is suspended",
    first: 5_671,
    file: "changes/listener",
    replace: [[" || Math.abs(clock.wall() - wall) >= leaseMs", ""]],
  },
  {
    name: "a dropped node does not register again",
    first: 6_561,
    file: "changes/change-log",
    replace: [
      [
        "if (notification.node === nodeId) this.mustRegister = true;\n        else",
        "if (notification.node !== nodeId)",
      ],
    ],
  },
  {
    name: "changes missed while disconnected are not read",
    first: 51,
    file: "changes/change-log",
    replace: [
      [
        "await this.layers.refreshAll();\n    await this.verify();\n    this.allChanged();",
        "await this.verify();",
      ],
    ],
  },
  {
    name: "changes of layers missed while disconnected are not read",
    first: 531,
    file: "changes/tracked-layers",
    replace: [["if (layers.length > 0) await this.readChanges(layers);", ""]],
  },
  {
    name: "a notification of a layer that is being read is dropped",
    first: 2_191,
    file: "changes/tracked-layers",
    replace: [["this.loading.get(id)?.queued.push(change);", ""]],
  },
  {
    name: "every other notification is dropped",
    file: "changes/tracked-layers",
    replace: [
      [
        "if (layer) this.apply(layer, change);",
        "if (layer && change.version % 2 === 0) this.apply(layer, change);",
      ],
    ],
  },
  {
    name: "a version is read after the render instead of before",
    file: "tiles/tile-service",
    replace: [
      [
        "...this.packedAlike(key, one), versions };",
        "...this.packedAlike(key, one), versions: plan.layers.map((layer) => layer.version) };",
      ],
    ],
  },
  {
    name: "a request joins a running render of older versions",
    first: 61,
    file: "tiles/tile-service",
    replace: [["usable: (earlier) => isCurrent(earlier, plan.layers, box),", "usable: () => true,"]],
  },
  {
    name: "the lock of a metatile is released before it is stored",
    first: 2_061,
    file: "tiles/tile-service",
    replace: [["return await this.draw(work);", "release(); return await this.draw(work);"]],
  },
  {
    name: "a tile in Redis is not checked",
    file: "tiles/tile-service",
    replace: [["if (stored && this.isValid(stored, plan, box)) {", "if (stored) {"]],
  },
  {
    name: "without notifications the database is not queried",
    first: 2_711,
    file: "tiles/tile-service",
    replace: [["if (!changes.trusted) await changes.refresh(plan.layers);", ""]],
  },
  {
    name: "a comparison of versions is reversed",
    file: "changes/layer-version",
    replace: [["if (change.version <= this.version)", "if (change.version >= this.version)"]],
  },
  {
    name: "a tile older than all kept changes counts as current",
    first: 52_571,
    file: "changes/layer-version",
    replace: [["version < first.previous) return true;", "version < first.previous) return false;"]],
  },
  {
    name: "a cached address is served without a check",
    file: "tiles/address-cache",
    replace: [["if (!unchangedSince(entry.sources, entry.checkedAt)) return undefined;", ""]],
  },
  {
    name: "a cached address is not invalidated by changes of the project",
    file: "catalog/catalog",
    replace: [["[count.everything, project.source, found.source]", "[count.everything, found.source]"]],
  },
  {
    name: "a map stays cached although its project changed",
    file: "catalog/catalog",
    replace: [["if (map.project !== state) {", "if (false) {"]],
  },
  {
    name: "a map that changed while it was read is cached",
    first: 51,
    file: "catalog/snapshots",
    replace: [["if (changed.has(state.id) || changed.has(undefined)) return", "if (false) return"]],
  },
  {
    name: "a cached map is not compared with the database while disconnected",
    first: 751,
    file: "catalog/catalog",
    replace: [["return row?.revision === revision && (", "return row !== undefined && ("]],
  },
  {
    name: "a change received during a query counts as diverged",
    first: 61,
    file: "changes/history",
    replace: [["layers.map(({ id, version }) => ({ id, version }))", "layers"]],
  },
  {
    name: "a version that was dropped counts as diverged",
    first: 81,
    file: "changes/change-log",
    replace: [["diverged && this.layers.has(known[index]!)", "diverged"]],
  },
  {
    name: "a plan without layers made before the history was known stays cached",
    first: 5_671,
    file: "tiles/planner",
    replace: [["known?.epoch === changes.epoch && isPlanCurrent(known)", "known && isPlanCurrent(known)"]],
  },
  {
    name: "a plan counts as current from its creation, not from when its maps were current",
    file: "tiles/planner",
    replace: [["visualized, asOf }", "visualized, asOf: this.options.count.now }"]],
  },
  {
    name: "the render host is not notified of another history",
    first: 201,
    file: "changes/change-log",
    replace: [["this.options.listener.historyChanged();", ""]],
  },
  {
    name: "a tile that is not current is kept by the CDN",
    first: 651,
    file: "api/resources/tile-answer",
    replace: [['if (!isCurrent) return { "cache-control": "no-store" };', ""]],
  },
  {
    name: "a list that was read while its objects changed is kept by the CDN",
    first: 221,
    file: "api/request/public-answers",
    replace: [["!cdnHeaders.isPurged || moment.isNow() ? keyed() : notKept", "keyed()"]],
  },
  {
    name: "an answer is kept by the CDN although its layer changed while it was made",
    first: 221,
    file: "api/request/public-answers",
    replace: [["tracked.every(({ version }, index) => version === before[index])", "true"]],
  },
  {
    name: "an answer is kept by the CDN although its map changed while it was made",
    first: 3_261,
    file: "api/request/public-answers",
    replace: [["        catalog.isCurrent(map) &&\n", ""]],
  },
  {
    name: "an answer is kept by the CDN without being checked when it is made",
    first: 331,
    file: "api/request/public-answers",
    replace: [["if (!before?.moment.isNow())", "if (!before)"]],
  },
  {
    name: "an answer with the last known statistics is kept by the CDN",
    first: 351,
    file: "api/request/operation",
    replace: [["isCurrent ? reply : keptByNobody(reply)", "reply"]],
  },
  {
    name: "the last known statistics count as those of now",
    first: 351,
    file: "features/visual-cache",
    replace: [["isCurrent: entry.version >= requiredVersion,", "isCurrent: true,"]],
  },
  {
    name: "an edit is answered although a node can be neither told nor warned",
    first: 1_001_421,
    file: "changes/propagation",
    replace: [
      [
        "if (clock.now() < until) cancelGiveUp = clock.after(againMs, () => void giveUp());\n        else end(error);",
        "end(); void error; void until;",
      ],
    ],
  },
  {
    name: "a dropped node is removed before it can know that it has missed something",
    first: 1_010_771,
    file: "changes/propagation",
    replace: [["if (!isRecorded) return", "if (false) return"]],
  },
  {
    name: "heartbeats are believed that another session answers",
    first: 1_000_254,
    file: "changes/change-log",
    replace: [["if (row!.listens !== this.session) throw new SessionLost();", ""]],
  },
  {
    name: "a session is believed since it listens, for whomever",
    first: 1_000_254,
    file: "changes/change-log",
    replace: [["if (row!.listens !== this.session) throw", "if (row!.listens === null) throw"]],
  },
  {
    name: "a server that has become a standby is listened to",
    first: 1_000_495,
    file: "changes/change-log",
    replace: [['if (row!.isReadOnly) throw new Error("The database takes no writes.");', ""]],
  },
  {
    name: "a replica that took the place of Redis is believed",
    first: 1_006_105,
    file: "changes/missed-changes",
    replace: [[" && this.redis.incarnation === this.confirmedBy", ""]],
  },
  {
    name: "a token that was replaced counts as a proof",
    first: 1_000_356,
    file: "changes/missed-changes",
    replace: [["token === this.confirmed && ", ""]],
  },
  {
    name: "an answer made without a proof counts as current, as the node is by now",
    first: 1_004_601,
    file: "changes/missed-changes",
    replace: [["this.passes > before || (", "("]],
  },
  {
    name: "an answer says that it was current later than it was asked for",
    first: 1_001_501,
    file: "changes/missed-changes",
    replace: [["return Math.min(since, asked);", "return since;"]],
  },
  {
    name: "what was not acknowledged is asked for again through Redis",
    first: 1_000_158,
    file: "changes/acknowledgements",
    replace: [["!isAgain && this.subscriber", "this.subscriber"]],
  },
  {
    name: "nobody waits for nodes that were not told of a change by SQL",
    first: 1_003_385,
    file: "changes/unawaited",
    replace: [["this.wait().catch(() => undefined);", ""]],
  },
  {
    name: "an answer without a proof may be kept",
    first: 1_000_041,
    file: "api/request/public-answers",
    replace: [["const kept = keptByNobody(reply);\n  return", "const kept = reply;\n  return"]],
  },
];
