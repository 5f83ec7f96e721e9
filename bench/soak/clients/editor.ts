import { randomUUID } from "node:crypto";
import { layerPath, point } from "../city.js";
import type { Client } from "../client.js";
import type { Ledger } from "../ledger.js";
import type { Random } from "../random.js";

/** Makes, changes and deletes objects of its own, each with a text that no other has. */

export class Editor {
  private readonly own: { id: number; text: string }[] = [];
  private made = 0;

  constructor(
    private readonly client: Client,
    private readonly ledger: Ledger,
    /** What its texts begin with. */
    private readonly name: string,
  ) {}

  async edit(random: Random): Promise<void> {
    const kind = random.next();
    const index = random.whole(0, this.own.length - 1);
    const object = this.own[index];
    if (!object || kind < 0.5) await this.create(random);
    else if (kind < 0.8) await this.change(object);
    else {
      this.own.splice(index, 1);
      await this.remove(object);
    }
  }

  private async create(random: Random): Promise<void> {
    const text = this.text();
    const body = { fields: { text }, geom: point(random) };
    const done = await this.write<{ id: number }>("create", "POST", "", body);
    if (!done) return this.ledger.unknown([text]);
    this.ledger.added([text]);
    this.own.push({ id: done.id, text });
  }

  private async change(object: { id: number; text: string }): Promise<void> {
    const text = this.text();
    if (await this.write("change", "PUT", `${object.id}/`, { fields: { text } })) {
      this.ledger.replaced(object.text, text);
      object.text = text;
      return;
    }
    this.ledger.unknown([object.text, text]);
    this.own.splice(this.own.indexOf(object), 1);
  }

  private async remove({ id, text }: { id: number; text: string }): Promise<void> {
    if (await this.write("delete", "DELETE", `${id}/`)) this.ledger.removed(text);
    else this.ledger.unknown([text]);
  }

  private text(): string {
    return `${this.name} ${this.made++}`;
  }

  private write<T>(as: string, method: string, path: string, body?: unknown): Promise<T | undefined> {
    return this.client.json<T>({
      ...{ as, method, body, token: true, path: `${layerPath("notes")}objects/${path}` },
      headers: { "idempotency-key": randomUUID() },
    });
  }
}
