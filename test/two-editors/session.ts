import { setTimeout as sleep } from "node:timers/promises";
import { randomNumbers } from "../support/random.js";
import { audit } from "./audit.js";
import { Editor, type Page, type User } from "./editor.js";
import { type Fault, Link } from "./link.js";
import { type Layer, languages, type Place } from "./place.js";
import type { Records } from "./records.js";

/** A session of two editors who change the same objects, by a seed. */

export interface Surroundings {
  readonly place: Place;
  readonly records: Records;
  /** Of this run, in which others may play the same seeds on the same nodes. */
  readonly run: string;
  kill(node: number): unknown;
}

export interface Played {
  readonly seed: number;
  /** What must not be. */
  readonly wrong: readonly string[];
  readonly trace: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** What is prevented by nothing but a key or an ETag is met often by few objects and many losses. */
const mostObjects = 3;
const longestCutMs = 25;
/** More decisions than any session needs. */
const mostTurns = 40;

interface Choice {
  readonly weight: number;
  readonly name: string;
  act(): unknown;
}

class Session {
  readonly wrong: string[] = [];
  readonly trace: string[] = [];
  readonly counts: Record<string, number> = {};
  private readonly random: () => number;
  private readonly layer: Layer;
  private readonly prefix: string;
  private readonly links: Link[] = [];
  private readonly editors: Editor[];
  private readonly made = new Map<string, number>();
  private readonly objects: number[] = [];
  private values = 0;
  private isSettling = false;
  private hasUndone = false;

  constructor(
    private readonly around: Surroundings,
    seed: number,
  ) {
    this.random = randomNumbers(seed);
    const { place } = around;
    this.layer = place.layers[this.chance(3) ? 1 : 0]!;
    this.prefix = `S${seed}.${around.run}/`;
    this.editors = place.accounts.map((account, index) => {
      const random = randomNumbers(seed * 2 + index + 1_000_003);
      const link = new Link(
        place,
        (node) => {
          this.count("kills");
          around.kill(node);
        },
        this.below(2),
        (what) => this.note(`${account.login} ${what}`),
      );
      this.links.push(link);
      const user: User = {
        ...{ account, link, layer: this.layer },
        chance: (of) => random() % of === 0,
        wrong: (what) => this.wrong.push(`${account.login}: ${what}`),
        trace: (what) => this.note(`${account.login} ${what}`),
        hasUndone: () => this.hasUndone,
        makes: (mark) => this.made.set(mark, (this.made.get(mark) ?? 0) + 1),
        isSettling: () => this.isSettling,
      };
      return new Editor(user);
    });
  }

  async play(): Promise<void> {
    const { records } = this.around;
    const since = await records.last();
    const count = 1 + this.below(mostObjects - 1);
    for (let n = 0; n < count; n++) {
      const mark = `${this.prefix}0-${n}`;
      this.made.set(mark, 1);
      const fields = { mark, note: `first ${n}`, height: n, title: this.text(undefined, "en", `title ${n}`) };
      this.objects.push(await records.make(this.layer, fields));
    }
    const steps = 6 + this.below(10);
    for (let step = 0; step < steps && this.wrong.length === 0; step++) await this.step();
    if (this.wrong.length === 0) await this.settle();
    if (this.wrong.length > 0) return;
    const found = await audit({
      ...{ records, layer: this.layer, prefix: this.prefix, since, made: this.made },
      editors: this.editors.map((editor, index) => ({
        login: this.around.place.accounts[index]!.login,
        memories: editor.memories,
        writes: [...this.links[index]!.writes.values()],
      })),
    });
    this.wrong.push(...found);
  }

  /** One of the editors does something, or both at the same time. */
  private async step(): Promise<void> {
    const first = this.below(2);
    const who = this.chance(5) ? [first, 1 - first] : [first];
    const acts = who.map((index) => this.act(index));
    await Promise.all(acts.map((act) => act()));
    for (const { now, memories } of this.editors) {
      now.sync();
      for (const { id } of memories)
        if (id !== undefined && !this.objects.includes(id)) this.objects.push(id);
    }
  }

  /** What is done is chosen now, whatever takes how long. */
  private act(index: number): () => Promise<void> {
    const editor = this.editors[index]!;
    const link = this.links[index]!;
    const { now } = editor;
    const isOpen = now.work.open !== undefined;
    const open = isOpen ? 1 : 0;
    const choice = (weight: number, name: string, act: Choice["act"]): Choice => ({ weight, name, act });
    const choices = [
      choice(isOpen ? 2 : 8, "opens", this.opening(now)),
      choice(2, "makes", this.making(now)),
      choice(10 * open, "writes", this.writing(now, 1 + this.below(2))),
      choice(3 * open, "shapes", this.shaping(now)),
      choice(10 * open, "saves", () => now.work.save()),
      choice(3 * open, "saves twice", () => Promise.all([now.work.save(), now.work.save()])),
      choice(2 * open, "saves while it follows", () => Promise.all([now.follow(), now.work.save()])),
      choice(2 * open, "saves and draws", this.savingAndDrawing(now)),
      choice(2 * open, "saves and leaves", this.leaving(editor)),
      choice(3, "reloads", () => editor.reload()),
      choice(3, "opens a draft", () => now.work.openDraft()),
      choice(4 * open, "follows", () => now.follow()),
      choice(now.done.canUndo ? 3 : 0, "undoes", () => this.undoing(() => now.done.undo())),
      choice(now.done.canRedo ? 4 : 0, "does again", () => this.undoing(() => now.done.redo())),
      choice(open, "discards", this.discarding(now)),
      choice(open, "deletes", () => now.remove()),
      choice(this.objects.length > 1 ? 0.3 : 0, "merges", this.merging(now)),
      choice(1.5, "is signed out", () => {
        link.isSignedOut = true;
      }),
    ];
    const { name, act } = this.chosen(choices);
    if (/saves|undoes|again|deletes|merges/.test(name) && this.chance(3)) link.fault = this.fault();
    const { fault } = link;
    return async () => {
      this.count(name);
      if (fault) this.count(fault.kind);
      this.note(
        `${this.around.place.accounts[index]!.login} ${name}${fault ? ` (${JSON.stringify(fault)})` : ""}`,
      );
      await act();
      link.fault = undefined;
    };
  }

  private opening(page: Page): () => Promise<void> {
    const id = this.objects[this.below(this.objects.length)];
    return async () => {
      if (id !== undefined) await page.work.openObject(id);
    };
  }

  private making(page: Page): () => Promise<void> {
    const mark = `${this.prefix}${++this.values}`;
    return () => page.make(mark);
  }

  private writing(page: Page, fields: number): () => void {
    const changes = Array.from({ length: fields }, () => this.value());
    return () => {
      for (const [field, change] of changes) page.write(field, change);
    };
  }

  private shaping(page: Page): () => void {
    const geom = this.chance(8) ? null : this.point();
    return () => page.write("geom", () => geom);
  }

  private savingAndDrawing(page: Page): () => Promise<void> {
    const geom = this.point();
    const ms = this.below(longestCutMs);
    return async () => {
      const saving = page.work.save();
      await sleep(ms);
      page.write("geom", () => geom);
      await saving;
    };
  }

  private leaving(editor: Editor): () => Promise<void> {
    const ms = this.below(longestCutMs);
    return async () => {
      void editor.now.work.save();
      await sleep(ms);
      editor.reload();
    };
  }

  private async undoing(turn: () => Promise<void>): Promise<void> {
    this.hasUndone = true;
    await turn();
  }

  private discarding(page: Page): () => void {
    const isRestored = this.chance(2);
    return () => page.discard(isRestored);
  }

  private merging(page: Page): () => Promise<void> {
    const at = this.below(this.objects.length);
    const [kept, deleted] = [this.objects[at]!, this.objects[(at + 1) % this.objects.length]!];
    return () => {
      this.hasUndone = true;
      return page.merge(kept, deleted);
    };
  }

  /** Which field becomes what: mostly a value that nobody else writes. */
  private value(): readonly [field: string, change: (shown: unknown) => unknown] {
    const n = ++this.values;
    const isSame = this.chance(4);
    const text = isSame ? `same ${this.below(2)}` : `${this.prefix}${n}`;
    switch (this.below(3)) {
      case 0:
        return ["height", () => (isSame ? -1 - this.below(2) : 1000 + n)];
      case 1:
        return ["note", () => text];
      default: {
        const language = languages[this.below(2)]!;
        return ["title", (shown) => this.text(shown, language, text)];
      }
    }
  }

  private text(shown: unknown, language: string, text: string): unknown {
    return this.layer.code === "texts" ? { ...(shown as object), [language]: text } : text;
  }

  private point(): GeoJSON.Point {
    const n = ++this.values;
    return { type: "Point", coordinates: [n % 180, this.below(80)] };
  }

  private fault(): Fault {
    const ms = this.below(longestCutMs);
    const kind = (["unsent", "unanswered", "unanswered", "cut", "cut", "kill"] as const)[this.below(6)]!;
    const skip = this.chance(3) ? 1 : 0;
    return kind === "cut" || kind === "kill" ? { skip, kind, ms } : { skip, kind };
  }

  /** Everybody comes back, and saves what is left. */
  private async settle(): Promise<void> {
    this.isSettling = true;
    this.note("the end");
    for (const link of this.links) {
      link.fault = undefined;
      link.isSignedOut = false;
    }
    for (const [index, editor] of this.editors.entries()) {
      editor.reload();
      for (let turn = 0; editor.now.drafts.all().length > 0; turn++) {
        if (turn > mostTurns) {
          this.wrong.push("drafts are left that cannot be saved");
          return;
        }
        const page = editor.now;
        if (page.work.open) page.close();
        await page.work.openDraft();
        await page.work.save();
        page.sync();
        if (this.wrong.length > 0) return;
        // A node that was killed starts again meanwhile.
        if (turn > 5) await sleep(500);
      }
      const login = this.around.place.accounts[index]!.login;
      for (const { id, mark, pending } of editor.memories)
        for (const [field, { value }] of pending)
          this.wrong.push(
            `${login}: ${field} of ${id ?? mark} was written as ${value}, and is no draft any more`,
          );
    }
  }

  /** One of them, the oftener the more it weighs. */
  private chosen(choices: readonly Choice[]): Choice {
    let at = (this.random() / 2 ** 32) * choices.reduce((sum, { weight }) => sum + weight, 0);
    for (const choice of choices) {
      at -= choice.weight;
      if (at < 0) return choice;
    }
    return choices[0]!;
  }

  private below(end: number): number {
    return this.random() % end;
  }

  private chance(of: number): boolean {
    return this.below(of) === 0;
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  private note(what: string): void {
    this.trace.push(what);
    if (/^\w+ is asked about/.test(what)) this.count("asked");
  }
}

/** Plays a session and looks whether all is as it was meant. */
export async function play(around: Surroundings, seed: number): Promise<Played> {
  const session = new Session(around, seed);
  try {
    await session.play();
  } catch (error) {
    session.wrong.push((error as Error).stack ?? String(error));
  }
  const { wrong, trace, counts } = session;
  return { seed, wrong, trace, counts };
}
