import { setTimeout as sleep } from "node:timers/promises";
import { objectAt, type Place, placeOfEdit, placeOfLook, tileOf } from "../crowd-places.js";

/**
 * People who edit and look at one map while its nodes are replaced: through the balancer, and past it, where an edit of one node is
 * looked for at another.
 */

export class Crowd {
  /** URLs of the nodes that are asked past the balancer. */
  readonly nodes = new Set<string>();
  readonly failures: string[] = [];
  readonly stale: string[] = [];
  /** Names of the objects whose creation was answered. */
  readonly acknowledged: string[] = [];
  /** Edits of one node that were looked for at another. */
  compared = 0;
  done = 0;
  private readonly running: Promise<void>[] = [];
  private readonly asking = new Map<string, number>();
  private isOver = false;
  private token = "";

  constructor(private readonly balancer: string) {}

  /** Makes the map `m` of project `p` with the layer `a`. @returns the layer's id */
  async prepare(user: string, pass: string): Promise<number> {
    const post = async (path: string, body: unknown) =>
      JSON.parse(await this.ask(this.balancer, `/api/2.8/p/${path}`, body)) as { id: number; token: string };
    this.token = (await post("login/", { user, pass })).token;
    await post("", { code: "m" });
    const { id } = await post("m/layers/", { code: "a", css_style: "#a { polygon-fill: #f00; }" });
    await post("m/layers/a/structure/", { code: "name", type: "string" });
    if (this.failures.length > 0) throw new Error(this.failures.join("\n"));
    return id;
  }

  start({ writers, viewers }: { readonly writers: number; readonly viewers: number }): void {
    for (let writer = 0; writer < writers; writer++) this.running.push(this.write(writer));
    for (let viewer = 0; viewer < viewers; viewer++) this.running.push(this.view(viewer));
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.running);
  }

  /** Asks a node for nothing more, and waits until it has answered. */
  async leave(node: string): Promise<void> {
    this.nodes.delete(node);
    while ((this.asking.get(node) ?? 0) > 0) await sleep(10);
  }

  /** Until so many more requests have been answered, or for so long on a busy machine. */
  async go(requests: number, longestMs = 20_000): Promise<void> {
    const end = performance.now() + longestMs;
    for (const until = this.done + requests; this.done < until && performance.now() < end; ) await sleep(20);
  }

  /** @returns the text of the answer, if it is one */
  private async ask(url: string, path: string, body?: unknown): Promise<string> {
    return (await this.bytes(url, path, body))?.toString() ?? "{}";
  }

  private async bytes(url: string, path: string, body?: unknown): Promise<Buffer | undefined> {
    this.asking.set(url, (this.asking.get(url) ?? 0) + 1);
    try {
      const answer = await fetch(url + path, {
        ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
        headers: {
          ...(body !== undefined && { "content-type": "application/json" }),
          ...(this.token && path.startsWith("/api") && { "x-token": this.token }),
        },
      });
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (answer.ok && !answer.headers.has("x-tile-incomplete")) return bytes;
      this.failures.push(`${url}${path}: ${answer.status} ${answer.ok ? "incomplete" : bytes.toString()}`);
    } catch (error) {
      const { message, cause } = error as Error;
      this.failures.push(`${url}${path}: ${message} ${String(cause)}`);
    } finally {
      this.done++;
      this.asking.set(url, this.asking.get(url)! - 1);
    }
    return undefined;
  }

  private async write(writer: number): Promise<void> {
    for (let count = 0; !this.isOver; count++) {
      const name = `w${writer}-${count}`;
      const place = placeOfEdit(writer, count);
      // Most edits are looked for at another node than that which was sent them.
      const [editor = this.balancer, viewer = this.balancer] = this.pair(count);
      const before = await this.tile(place, viewer);
      const body = objectAt(place, name);
      if ((await this.bytes(editor, "/api/2.8/p/m/layers/a/objects/", body)) === undefined) continue;
      this.acknowledged.push(name);
      const seer = this.nodes.has(viewer) ? viewer : this.balancer;
      const after = await this.tile(place, seer);
      if (before === undefined || after === undefined) continue;
      if (editor !== seer) this.compared++;
      if (before === after) this.stale.push(`${name}, written at ${editor}, seen at ${seer}`);
      // Nodes that start get their share of the machine.
      await sleep(20);
    }
  }

  private pair(count: number): readonly string[] {
    const all = [...this.nodes];
    if (all.length < 2 || count % 3 === 0) return [];
    const first = count % all.length;
    return [all[first]!, all[(first + 1) % all.length]!];
  }

  private async view(viewer: number): Promise<void> {
    for (let count = 0; !this.isOver; count++) {
      await this.tile(placeOfLook(viewer, count), this.balancer);
      await this.ask(this.balancer, "/api/2.8/p/m/layers/a/objects/?limit=20");
      await this.ask(this.balancer, "/api/2.8/p/m/layers/");
      await sleep(20);
    }
  }

  private async tile(place: Place, url: string): Promise<string | undefined> {
    return (await this.bytes(url, tileOf(place)))?.toString("base64");
  }
}
