import { createReadStream } from "node:fs";
import { refused } from "../refusal.js";

/**
 * What the blocks of a DXF file become. A block may insert others many times, and these others: a small file could keep GDAL
 * busy for as long as an import may take. GDAL itself refuses blocks that insert themselves.
 */

/** Entities that inserted blocks may have in all. */
const maxInserted = 10_000_000;
/** Blocks within blocks; drawings have a few. GDAL takes a piece of its stack for each. */
const maxDepth = 100;
/** Bound on the names that are kept. */
const maxNames = 1_000_000;
const maxLineLength = 2 ** 24;
const lineEnd = /\r\n|\n\r|\n|\r/;
/** Entities that name a block. */
const inserting: ReadonlySet<string> = new Set(["INSERT", "DIMENSION", "ACAD_TABLE"]);

/** A block, or the drawing outside of blocks. */
interface Container {
  entities: number;
  /** How often it inserts each block. */
  readonly inserts: Map<string, number>;
  /** Entities with those of inserted blocks, and how deep these are nested; undefined = not known yet. */
  whole?: { readonly total: number; readonly depth: number };
}

/** @throws Refusal */
export async function requireFewInserts(path: string): Promise<void> {
  const counter = new InsertCounter();
  let code: number | undefined;
  for await (const line of linesOf(path)) {
    if (code === undefined) code = Number.parseInt(line, 10) || 0;
    else {
      counter.take(code, line);
      code = undefined;
    }
  }
  counter.finish();
}

/** Lines that end as GDAL takes them: with CR, LF, or both. */
async function* linesOf(path: string): AsyncGenerator<string, void> {
  let rest = "";
  const chunks = createReadStream(path, { encoding: "latin1", highWaterMark: 2 ** 20 });
  for await (const chunk of chunks as AsyncIterable<string>) {
    const text = rest + chunk;
    const lines = text.split(lineEnd);
    rest = lines.pop()!;
    // What looks like the end of a line may be the first half of it.
    if (rest === "" && lines.length > 0) rest = `${lines.pop()}${text.at(-1)}`;
    if (rest.length > maxLineLength) throw refused("The file has a line that is too long.");
    yield* lines;
  }
  yield* rest.split(lineEnd);
}

class InsertCounter {
  private readonly blocks = new Map<string, Container>();
  private readonly drawing = newContainer();
  private container = this.drawing;
  private names = 0;
  private type = "";
  private name: string | undefined;
  private columns = 1;
  private rows = 1;

  /** The next pair of the file: a code, and its value. */
  take(code: number, value: string): void {
    if (code === 0) {
      this.endEntity();
      this.type = value.trim();
    } else if (code === 2) this.name ??= value.trim().toUpperCase();
    else if (code === 70) this.columns = Number.parseInt(value, 10) || 1;
    else if (code === 71) this.rows = Number.parseInt(value, 10) || 1;
  }

  /** @throws Refusal */
  finish(): void {
    this.endEntity();
    if (!(this.wholeOf(this.drawing).total - this.drawing.entities <= maxInserted))
      throw refused(`The blocks that the drawing inserts have more than ${maxInserted} entities.`);
  }

  private endEntity(): void {
    const { type, name = "", columns, rows } = this;
    if (type === "BLOCK") {
      this.container = newContainer();
      this.blocks.set(name, this.container);
      this.countName();
    } else if (type === "ENDBLK") this.container = this.drawing;
    else this.container.entities++;
    if (inserting.has(type)) {
      const { inserts } = this.container;
      if (!inserts.has(name)) this.countName();
      const times = type === "INSERT" ? Math.abs(columns * rows) : 1;
      inserts.set(name, (inserts.get(name) ?? 0) + times);
    }
    this.name = undefined;
    this.columns = 1;
    this.rows = 1;
  }

  private countName(): void {
    if (++this.names > maxNames) throw refused("The drawing has too many blocks.");
  }

  /** @param above blocks that the container is in; @throws Refusal */
  private wholeOf(container: Container, above = 0): NonNullable<Container["whole"]> {
    if (above > maxDepth) throw tooDeep();
    if (container.whole) return container.whole;
    let { entities: total } = container;
    let depth = 0;
    // Also ends a circle.
    container.whole = { total, depth };
    for (const [name, times] of container.inserts) {
      const block = this.blocks.get(name);
      if (!block) continue;
      const inner = this.wholeOf(block, above + 1);
      total += times * inner.total;
      depth = Math.max(depth, 1 + inner.depth);
    }
    if (depth > maxDepth) throw tooDeep();
    container.whole = { total, depth };
    return container.whole;
  }
}

const tooDeep = (): Error => refused(`The blocks of the drawing are nested more than ${maxDepth} deep.`);

const newContainer = (): Container => ({ entities: 0, inserts: new Map() });
