/**
 * Faults that the simulation must find: each is one or a few lines of the way of a tile, put wrong. Those at the top were
 * in the program once.
 */

export interface Mutant {
  readonly name: string;
  /** A source of the program, as it is compiled: `tiles/answers`. */
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
    name: "a layer that is in use is forgotten when there are many others",
    file: "changes/weak-by-id",
    replace: [
      [
        "        this.held.set(id, held);",
        "        this.held.set(id, held);\n        if (this.held.size > 2) this.held.delete(this.held.keys().next().value);",
      ],
    ],
  },
  {
    name: "styles are given to the host all at once, so that their deadline counts while they wait",
    file: "style/compiler",
    replace: [
      ["new Gate(1,", "new Gate(100,"],
      ["new StyleUndecided(response.error)", 'failed("invalid_style", response.error)'],
    ],
  },
  {
    name: "what is without a layer whose style took too long is kept",
    file: "tiles/planner",
    replace: [["if (error instanceof StyleUndecided)", "if (false)"]],
  },
  {
    name: "versions of another history of the database count",
    file: "changes/change-log",
    replace: [["if (epoch === this.epoch)\n            return;", "if (true)\n            return;"]],
  },
  {
    name: "files of the database that were put back are taken for the known ones",
    file: "changes/change-log",
    replace: [["this.position ?? (await storedPosition(redis, redisPrefix))", "undefined"]],
  },
  {
    name: "an edit is answered although the node has not heard of it",
    file: "changes/propagation",
    replace: [["return new Promise((resolve) => this.wait(receipt, resolve));", "return Promise.resolve();"]],
  },
  {
    name: "an edit does not wait for other nodes",
    file: "changes/propagation",
    replace: [["wait.missing = new Set(this.members);", "wait.missing = new Set();"]],
  },
];
