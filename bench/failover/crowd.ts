import { setTimeout as sleep } from "node:timers/promises";
import { objectAt, type Place, placeOfEdit, placeOfLook, tileOf } from "../crowd-places.js";

/** Writers and viewers of one map on several nodes, and what they are answered. */

export class Crowd {
  private readonly tried = new Set<string>();
  private readonly acknowledged: string[] = [];
  private readonly stale: string[] = [];
  private readonly statuses = new Map<string, number>();
  private readonly running: Promise<void>[] = [];
  private isOver = false;
  private lastWrite = 0;
  private longestMs = 0;
  private taken: number[] = [];
  private hasFailed = false;
  private worstTileMs = 0;
  private token = "";
  layerId = 0;

  private constructor(private readonly urls: readonly string[]) {}

  static async open(urls: readonly string[]): Promise<Crowd> {
    const crowd = new Crowd(urls);
    const post = async (path: string, body: unknown) => {
      const answer = await crowd.ask(0, "POST", path, body);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return JSON.parse(answer.text) as { id: number; token: string };
    };
    crowd.token = (await post("login/", { user: "admin", pass: "adminadmin" })).token;
    await post("", { code: "m" });
    crowd.layerId = (await post("m/layers/", { code: "a", css_style: "#a { polygon-fill: #f00; }" })).id;
    await post("m/layers/a/structure/", { code: "name", type: "string" });
    crowd.statuses.clear();
    return crowd;
  }

  start({ writers, viewers }: { readonly writers: number; readonly viewers: number }): void {
    for (let writer = 0; writer < writers; writer++) this.running.push(this.write(writer));
    for (let viewer = 0; viewer < viewers; viewer++) this.running.push(this.view(viewer));
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.running);
  }

  /** From now on the longest time without an edit is measured. */
  begin(): void {
    this.statuses.clear();
    this.longestMs = 0;
    this.taken = [];
    this.worstTileMs = 0;
    this.hasFailed = false;
    this.lastWrite = performance.now();
  }

  /** Whether an edit was taken since the last one that was not, or lately if all were. */
  get hasWritten(): boolean {
    return !this.hasFailed && performance.now() - this.lastWrite < 1_000;
  }

  /** @param begun when it was done  @param promoted when there was another primary */
  told(begun: number, promoted: number): string {
    const next = this.taken.find((time) => time > promoted) ?? Number.NaN;
    const counts = [...this.statuses].sort().map(([what, count]) => `${what} ${count}`);
    const ms = (from: number, to: number) => `${Math.round(to - from)} ms`;
    return `no edit for ${ms(0, this.longestMs)}; another primary after ${ms(begun, promoted)}, an edit ${ms(promoted, next)} later; slowest tile ${ms(0, this.worstTileMs)}; ${counts.join(", ")}`;
  }

  audit(stored: readonly string[]): string {
    const names = new Set(stored);
    const lost = this.acknowledged.filter((name) => !names.has(name));
    const strange = [...names].filter((name) => !this.tried.has(name));
    return `${this.acknowledged.length} edits answered: ${lost.length} lost, ${stored.length - names.size} done twice, ${this.stale.length} tiles stale (${this.stale.join(" ")}), ${strange.length} from nowhere`;
  }

  private async ask(node: number, method: string, path: string, body: unknown, key?: string) {
    const answer = await fetch(`${this.urls[node]}/api/2.8/p/${path}`, {
      method,
      headers: {
        "content-type": "application/json",
        ...(this.token && { "x-token": this.token }),
        ...(key !== undefined && { "idempotency-key": key }),
      },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  }

  private count(what: string): void {
    this.statuses.set(what, (this.statuses.get(what) ?? 0) + 1);
  }

  private async write(writer: number): Promise<void> {
    for (let count = 0; !this.isOver; count++) {
      const name = `w${writer}-${count}`;
      const place = placeOfEdit(writer, count);
      const node = count % this.urls.length;
      const other = (node + 1) % this.urls.length;
      const before = await this.tile(place, other);
      this.tried.add(name);
      if (!(await this.send(name, place, node))) return;
      const after = await this.tile(place, other);
      if (before !== undefined && before === after) this.stale.push(name);
    }
  }

  /** Sends it until it is taken. @returns whether it was */
  private async send(name: string, place: Place, node: number): Promise<boolean> {
    const body = objectAt(place, name);
    while (!this.isOver) {
      const { status, text } = await this.ask(node, "POST", "m/layers/a/objects/", body, name);
      if (status === 200) {
        this.count("edit 200");
        this.acknowledged.push(name);
        const now = performance.now();
        this.taken.push(now);
        this.longestMs = Math.max(this.longestMs, now - this.lastWrite);
        this.lastWrite = now;
        this.hasFailed = false;
        return true;
      }
      this.hasFailed = true;
      this.count(`edit ${status} ${codeOf(text)}`);
      await sleep(50);
    }
    return false;
  }

  private async view(viewer: number): Promise<void> {
    for (let count = 0; !this.isOver; count++) {
      await this.tile(placeOfLook(viewer, count), count % this.urls.length);
      await sleep(200);
    }
  }

  /** The bytes of a tile, for comparison; undefined = it could not be had as a whole. */
  private async tile(place: Place, node: number): Promise<string | undefined> {
    const begun = performance.now();
    const answer = await fetch(`${this.urls[node]}${tileOf(place)}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    this.worstTileMs = Math.max(this.worstTileMs, performance.now() - begun);
    const isWhole = answer.status === 200 && !answer.headers.has("x-tile-incomplete");
    this.count(`tile ${answer.status}${answer.status === 200 && !isWhole ? " incomplete" : ""}`);
    return isWhole ? bytes.toString("base64") : undefined;
  }
}

function codeOf(text: string): string {
  try {
    return (JSON.parse(text) as { code: string }).code;
  } catch {
    return "";
  }
}
