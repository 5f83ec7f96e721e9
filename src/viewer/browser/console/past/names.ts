import { type BinEntry, readBin } from "../bin.js";
import type { Edits } from "../edits.js";
import type { PastOf } from "./frame.js";

/** What maps, folders and layers are called, as far as it is known here: the history has their codes. */
export class Names {
  private binned: readonly BinEntry[] = [];

  constructor(
    private readonly edits: Edits,
    private readonly of: PastOf,
  ) {}

  /** Learns the names of what was deleted lately. */
  async read(): Promise<void> {
    const bin = await readBin(this.edits, this.of.project.code, { limit: 100 }).catch(() => undefined); // codes are shown then
    this.binned = bin?.entries ?? [];
  }

  map(code: string): string {
    const isIt = (entry: BinEntry) => entry.kind === "map" && entry.code === code;
    const known = this.of.project.maps.find((map) => map.code === code) ?? this.binned.find(isIt);
    return known?.name || code;
  }

  /** @param map the code of the map that it is in, or was */
  element(map: string, code: string): string {
    const isIt = (entry: BinEntry) =>
      (entry.kind === "layer" || entry.kind === "folder") && entry.map === map && entry.code === code;
    const open = map === this.of.map ? this.of.titles.get(code) : undefined;
    return open ?? (this.binned.find(isIt)?.name || code);
  }
}
