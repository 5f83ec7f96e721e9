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

/** Seconds of processors that our ended children took, with theirs; 0 where it is not known. */
function ofEnded(): number {
  try {
    // The name of the program, in brackets, may have blanks in it.
    const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
  } catch {
    return 0;
  }
}

export class Times {
  readonly #files: Took[] = [];
  #told = ofEnded();

  /** To be called as soon as a process has ended, before another has: which of them took what, the system does not say. */
  ofEndedNow(): number {
    const before = this.#told;
    this.#told = ofEnded();
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
