import { randomUUID } from "node:crypto";
import { feature, layerPath } from "../city.js";
import type { Client } from "../client.js";
import type { Ledger } from "../ledger.js";
import type { Random } from "../random.js";

/** Imports some points at a time, and exports them. */

const features = 20;

export class Importer {
  private made = 0;

  constructor(
    private readonly client: Client,
    private readonly ledger: Ledger,
    /** What its texts begin with. */
    private readonly name: string,
  ) {}

  async work(random: Random): Promise<void> {
    const path = layerPath("imported");
    if (random.next() < 0.3) {
      await this.client.ask({ as: "export", path: `${path}export/?format=geojson`, token: true });
      return;
    }
    const texts = Array.from({ length: features }, () => `${this.name} ${this.made++}`);
    const done = await this.client.ask({
      as: "import",
      method: "POST",
      path: `${path}import/`,
      body: { type: "FeatureCollection", features: texts.map((text) => feature(random, text)) },
      token: true,
      headers: { "idempotency-key": randomUUID() },
      // So it is when the process is killed that reads the file; the layer is as it was.
      undone: "import_failed",
    });
    if (done) this.ledger.added(texts);
    else this.ledger.unknown(texts);
  }
}
