import { readFileSync } from "node:fs";

/** What test files take, so that the longest are seen: of the whole suite they are most of the time. */

const shown = 25;
/** Of times in `/proc`, which Linux has on all machines that we know. */
const ticksPerSecond = 100;

interface Took {
  readonly name: string;
  /** Seconds by the clock. */
  readonly wall: number;
  /** Seconds of processors, of its process and of those that it started and waited for. */
  readonly cpu: number;
}

/** Seconds of processors that this process took, and its ended children with theirs; 0 where it is not known. */
export function ofProcessors(): { readonly own: number; readonly ended: number } {
  try {
    // The name of the program, in brackets, may have blanks in it.
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number);
    return { own: (user + system) / ticksPerSecond, ended: (endedUser + endedSystem) / ticksPerSecond };
  } catch {
    return { own: 0, ended: 0 };
  }
}

export class Times {
  readonly #files: Took[] = [];
  #told = ofProcessors().ended;

  /** To be called as soon as a process has ended, before another has: which of them took what, the system does not say. */
  ofEndedNow(): number {
    const before = this.#told;
    this.#told = ofProcessors().ended;
    return this.#told - before;
  }

  add(took: Took): void {
    this.#files.push(took);
  }

  /** A line for each of the files that took longest, and one for all of them. */
  longest(): string {
    const { wall, cpu } = this.#files.reduce(
      (sum, took) => ({ wall: sum.wall + took.wall, cpu: sum.cpu + took.cpu }),
      { wall: 0, cpu: 0 },
    );
    const lines = [...this.#files]
      .sort((one, other) => other.wall - one.wall)
      .slice(0, shown)
      .map(lineOf);
    return [`Longest of ${this.#files.length} files:`, ...lines, lineOf({ name: "all", wall, cpu })].join(
      "\n",
    );
  }
}

const lineOf = ({ name, wall, cpu }: Took): string =>
  `${wall.toFixed(1).padStart(8)} s, ${cpu.toFixed(1).padStart(6)} s of processors  ${name}`;
