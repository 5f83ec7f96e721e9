import { checkExtent, type Extent, emptyExtent, extend } from "./extent.js";
import { damaged, FontRefusal } from "./sfnt.js";

/** Outlines of OpenType fonts are programs (Type 2 charstrings). They are run here as a renderer would, with bounds. */

const maxStack = 48;
const maxDepth = 10;
const maxPoints = 32_000;
/** Numbers and operators of one glyph, and of all. */
const maxSteps = 200_000;
const maxStepsOfAll = 30_000_000;

export interface Subroutines {
  readonly global: readonly Buffer[];
  readonly local: readonly Buffer[];
}

/** Runs the programs of the glyphs of a font. */
export class Charstrings {
  private left = maxStepsOfAll;

  constructor(private readonly unitsPerEm: number) {}

  /** @throws FontRefusal when the program is damaged, takes too long, or draws a glyph that is too large */
  check(program: Buffer, subroutines: Subroutines): void {
    const run = new Run(subroutines, Math.min(maxSteps, this.left));
    run.all(program);
    this.left -= run.steps;
    checkExtent(run.extent, this.unitsPerEm);
  }
}

class Run {
  readonly extent: Extent = emptyExtent();
  steps = 0;
  private stack: number[] = [];
  private stems = 0;
  private points = 0;
  private x = 0;
  private y = 0;
  private ended = false;

  constructor(
    private readonly subroutines: Subroutines,
    private readonly most: number,
  ) {}

  all(program: Buffer): void {
    this.run(program, 0);
  }

  private run(program: Buffer, depth: number): void {
    if (depth > maxDepth) throw damaged("CFF");
    let at = 0;
    while (at < program.length && !this.ended) {
      if (++this.steps > this.most) throw new FontRefusal("Its glyphs take too long to draw.");
      const code = program[at++]!;
      if (code >= 32 || code === 28) {
        at = this.number(program, at, code);
        continue;
      }
      switch (code) {
        case 10:
          this.run(this.called(this.subroutines.local), depth + 1);
          break;
        case 29:
          this.run(this.called(this.subroutines.global), depth + 1);
          break;
        case 11:
          return;
        case 12:
          this.flex(program.readUInt8(at++));
          break;
        case 19:
        case 20:
          this.stem();
          at += (this.stems + 7) >> 3;
          if (at > program.length) throw damaged("CFF");
          break;
        default:
          this.operator(code);
      }
    }
  }

  private number(program: Buffer, at: number, code: number): number {
    if (this.stack.length >= maxStack) throw damaged("CFF");
    if (code === 28) {
      this.stack.push(program.readInt16BE(at));
      return at + 2;
    }
    if (code <= 246) {
      this.stack.push(code - 139);
      return at;
    }
    if (code === 255) {
      this.stack.push(program.readInt32BE(at) / 65_536);
      return at + 4;
    }
    const low = program.readUInt8(at);
    this.stack.push(code <= 250 ? (code - 247) * 256 + low + 108 : -(code - 251) * 256 - low - 108);
    return at + 1;
  }

  private called(subroutines: readonly Buffer[]): Buffer {
    const bias = subroutines.length < 1_240 ? 107 : subroutines.length < 33_900 ? 1_131 : 32_768;
    const found = subroutines[(this.stack.pop() ?? Number.NaN) + bias];
    if (!found) throw damaged("CFF");
    return found;
  }

  private stem(): void {
    this.stems += this.stack.length >> 1;
    this.stack = [];
  }

  private operator(code: number): void {
    const { stack } = this;
    switch (code) {
      case 1:
      case 3:
      case 18:
      case 23:
        this.stem();
        return;
      case 4:
        this.to(0, this.last(1));
        break;
      case 21:
        this.to(this.last(2), this.last(1));
        break;
      case 22:
        this.to(this.last(1), 0);
        break;
      case 5:
        this.lines(stack);
        break;
      case 6:
      case 7:
        for (const [index, step] of stack.entries())
          if ((index + code) % 2 === 0) this.to(step, 0);
          else this.to(0, step);
        break;
      case 8:
        this.curves(stack);
        break;
      case 14:
        // With four more it puts two others together, as fonts did long ago.
        if (stack.length >= 4) throw new FontRefusal("It puts glyphs together in a way that is out of use.");
        this.ended = true;
        break;
      case 24:
        this.curves(stack.slice(0, -2));
        this.lines(stack.slice(-2));
        break;
      case 25:
        this.lines(stack.slice(0, -6));
        this.curves(stack.slice(-6));
        break;
      case 26:
      case 27:
        this.evenCurves(code === 27);
        break;
      case 30:
      case 31:
        this.turningCurves(code === 31);
        break;
      default:
        throw damaged("CFF");
    }
    this.stack = [];
  }

  /** @throws FontRefusal when there are fewer numbers */
  private last(index: number): number {
    const value = this.stack.at(-index);
    if (value === undefined) throw damaged("CFF");
    return value;
  }

  private to(dx: number, dy: number): void {
    this.x += dx;
    this.y += dy;
    if (++this.points > maxPoints) throw damaged("CFF");
    extend(this.extent, this.x, this.y);
  }

  private lines(steps: readonly number[]): void {
    for (let at = 0; at + 1 < steps.length; at += 2) this.to(steps[at]!, steps[at + 1]!);
  }

  private curves(steps: readonly number[]): void {
    if (steps.length % 6 !== 0) throw damaged("CFF");
    this.lines(steps);
  }

  /** Curves that begin and end in one direction: along x or along y. */
  private evenCurves(alongX: boolean): void {
    const steps = this.stack;
    let at = steps.length % 4 === 0 ? 0 : 1;
    let aside = at === 1 ? steps[0]! : 0;
    for (; at + 3 < steps.length; at += 4) {
      const [first, dx, dy, third] = steps.slice(at, at + 4) as [number, number, number, number];
      if (alongX) this.to(first, aside);
      else this.to(aside, first);
      this.to(dx, dy);
      if (alongX) this.to(third, 0);
      else this.to(0, third);
      aside = 0;
    }
  }

  /** Curves that begin along x and end along y, or the other way round, in turn. */
  private turningCurves(beginsAlongX: boolean): void {
    const steps = this.stack;
    let alongX = beginsAlongX;
    for (let at = 0; at + 3 < steps.length; at += 4) {
      const [first, dx, dy, third] = steps.slice(at, at + 4) as [number, number, number, number];
      const aside = steps.length - at === 5 ? steps[at + 4]! : 0;
      if (alongX) this.to(first, 0);
      else this.to(0, first);
      this.to(dx, dy);
      if (alongX) this.to(aside, third);
      else this.to(third, aside);
      alongX = !alongX;
    }
  }

  private flex(code: number): void {
    const needed = { 34: 7, 35: 13, 36: 9, 37: 11 }[code];
    // The others compute, which no font in use does.
    if (needed === undefined || this.stack.length < needed) throw damaged("CFF");
    const s = this.stack as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    const start = { x: this.x, y: this.y };
    if (code === 34) this.lines([s[0], 0, s[1], s[2], s[3], 0, s[4], 0, s[5], -s[2], s[6], 0]);
    else if (code === 35) this.lines(this.stack.slice(0, 12));
    else if (code === 36) {
      this.lines([s[0], s[1], s[2], s[3], s[4], 0, s[5], 0, s[6], s[7]]);
      this.to(s[8], start.y - this.y);
    } else {
      this.lines(s.slice(0, 10));
      const [dx, dy] = [this.x - start.x, this.y - start.y];
      if (Math.abs(dx) > Math.abs(dy)) this.to(s[10], -dy);
      else this.to(-dx, s[10]);
    }
    this.stack = [];
  }
}
