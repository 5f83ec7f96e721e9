/**
 * Faults that the simulation must find: each is a line or two of the way of a tile, put wrong. The first ones were in the
 * program once.
 */

export interface Mutant {
  readonly name: string;
  /** A source below `src`, without its extension. */
  readonly file: string;
  /** What stands there, once, and what is put in its place. */
  readonly replace: readonly (readonly [from: string, to: string])[];
}

export const mutants: readonly Mutant[] = [
  {
    name: "an answer is kept as right without a look at what changed while it was drawn",
    file: "tiles/answers",
    replace: [
      ["plan.complete && isPlanCurrent(plan) && tiles.isCurrent(plan, address.coord, tile)", "plan.complete"],
    ],
  },
  {
    name: "what somebody still holds is forgotten, and hears of no more changes",
    file: "changes/weak-by-id",
    replace: [
      [
        "this.held.set(id, held);",
        "this.held.set(id, held); if (this.held.size > 2) this.held.delete([...this.held.keys()][0]!);",
      ],
    ],
  },
  {
    name: "styles are given to the host all at once, and what lacks one that waited too long is kept",
    file: "style/compiler",
    replace: [
      ["await mutex.acquire({ owner: owner.project, urgent: owner.stored })", "() => undefined"],
      ["response.deadline ? new StyleTimeout(response.error) :", ""],
      ['"compile", request, { deadlineMs }', '"compile", request, { deadlineMs: deadlineMs - 3_000 }'],
    ],
  },
  {
    name: "what lacks a style that took too long is kept",
    file: "tiles/planner",
    replace: [["if (error instanceof StyleTimeout) return timedOut;", ""]],
  },
  {
    name: "versions of another history of the database count",
    file: "changes/change-log",
    replace: [["if (epoch === this.epoch) return;", 'if (this.epoch !== "") return;']],
  },
  {
    name: "what another history of the database has for a version is not told from it",
    file: "changes/history",
    replace: [["diverged: hasDiverged(known[index]!.version, version, next)", "diverged: false"]],
  },
  {
    name: "an edit is answered although its node has not heard of it",
    file: "changes/propagation",
    replace: [["return new Promise((resolve) => this.wait(receipt, resolve));", "return Promise.resolve();"]],
  },
  {
    name: "an edit does not wait for other nodes",
    file: "changes/propagation",
    replace: [["wait.missing = new Set(this.members);", "wait.missing = new Set();"]],
  },
  {
    name: "what one node has heard counts as heard by all",
    file: "changes/propagation",
    replace: [["wait.missing?.delete(from);", "wait.missing?.clear();"]],
  },
  {
    name: "a node that was given up is forgotten before it can have noticed",
    file: "changes/propagation",
    replace: [
      [
        "this.options.clock.after(expiryMs, () => void this.expire(node, drop))",
        "this.options.clock.after(0, () => void this.expire(node, drop))",
      ],
    ],
  },
  {
    name: "a node trusts what it remembers however long it has heard nothing",
    file: "changes/listener",
    replace: [["!this.open || clock.now() - this.verifiedAt >= leaseMs", "!this.open"]],
  },
  {
    name: "a node that was given up does not announce itself again",
    file: "changes/change-log",
    replace: [
      [
        "if (notification.node === nodeId) this.mustRegister = true;\n        else",
        "if (notification.node !== nodeId)",
      ],
    ],
  },
  {
    name: "what was missed while the connection was away is not read",
    file: "changes/change-log",
    replace: [["await this.layers.refreshAll();\n    this.allChanged();", ""]],
  },
  {
    name: "what was missed of layers while the connection was away is not read",
    file: "changes/tracked-layers",
    replace: [["if (layers.length > 0) await this.readChanges(layers);", ""]],
  },
  {
    name: "a notification of a layer that is being read is dropped",
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
    file: "tiles/service",
    replace: [["versions: [...versions],", "versions: plan.layers.map((layer) => layer.version),"]],
  },
  {
    name: "whoever waits for a render takes any that runs",
    file: "tiles/service",
    replace: [["usable: (earlier) => isCurrent([...earlier], plan.layers, box),", "usable: () => true,"]],
  },
  {
    name: "the right to draw a metatile is given back before it is stored",
    file: "tiles/service",
    replace: [["return await this.draw(work);", "release(); return await this.draw(work);"]],
  },
  {
    name: "a tile in Redis is not checked",
    file: "tiles/service",
    replace: [["if (stored && isCurrent(stored.versions, plan.layers, box)) {", "if (stored) {"]],
  },
  {
    name: "without notifications nothing is asked for",
    file: "tiles/service",
    replace: [["if (!changes.trusted) await changes.refresh(plan.layers);", ""]],
  },
  {
    name: "a comparison of versions is turned round",
    file: "changes/layer-version",
    replace: [["if (change.version <= this.version)", "if (change.version >= this.version)"]],
  },
  {
    name: "a tile that is older than all that is remembered counts as right",
    file: "changes/layer-version",
    replace: [["version < first.previous) return true;", "version < first.previous) return false;"]],
  },
  {
    name: "an address is taken for checked without a look",
    file: "tiles/address-cache",
    replace: [["if (!unchangedSince(entry.sources, entry.checkedAt)) return undefined;", ""]],
  },
  {
    name: "an address does not hear of changes of the project",
    file: "catalog/catalog",
    replace: [["[count.everything, project.source, found.source]", "[count.everything, found.source]"]],
  },
  {
    name: "a map is kept although its project changed",
    file: "catalog/catalog",
    replace: [["if (map.project !== state) {", "if (false) {"]],
  },
  {
    name: "a map that changed while it was read is kept",
    file: "catalog/snapshots",
    replace: [["if (changed.has(state.id) || changed.has(undefined)) return", "if (false) return"]],
  },
  {
    name: "a map that is kept is not compared with the database while nothing is heard",
    file: "catalog/catalog",
    replace: [["return row?.revision === revision && (", "return row !== undefined && ("]],
  },
  {
    name: "what is heard while the database answers counts as refuted by the answer",
    file: "changes/history",
    replace: [["layers.map(({ id, version }) => ({ id, version }))", "layers"]],
  },
  {
    name: "a version of another history refutes the present one",
    file: "changes/change-log",
    replace: [["diverged && this.layers.has(known[index]!)", "diverged"]],
  },
  {
    name: "a plan without layers stays as it was made before the history was known",
    file: "tiles/planner",
    replace: [["known?.epoch === changes.epoch && isPlanCurrent(known)", "known && isPlanCurrent(known)"]],
  },
  {
    name: "a plan counts as right from when it is made, not from when its maps were right",
    file: "tiles/planner",
    replace: [["      asOf,\n      complete", "      asOf: this.options.count.now,\n      complete"]],
  },
  {
    name: "another history is not told to the render host",
    file: "changes/change-log",
    replace: [["this.options.listener.historyChanged();", ""]],
  },
];
