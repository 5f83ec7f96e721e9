import { BadFeature } from "../refusal.js";
import type { FeatureSource } from "./feature-source.js";

/**
 * Features of which those that follow each other with the same id and the same values are one: MapInfo tables have a row for each
 * point of several, and for each part of a collection.
 */
export class JoinedParts implements FeatureSource {
  /** Features that were joined to the one before. */
  joined = 0;
  id = -1;
  private current: Part | undefined;
  private following: Part | undefined;
  private begun = false;
  private parts: Buffer[] = [];

  /** @param idIndex index of the id among the values */
  constructor(
    private readonly source: FeatureSource,
    private readonly idIndex: number,
  ) {}

  next(): boolean {
    this.current = this.begun ? this.following : this.read();
    this.begun = true;
    if (!this.current) return false;
    const { id, values, geometry } = this.current;
    this.id = id;
    this.parts = geometry ? [geometry] : [];
    for (this.following = this.read(); this.following; this.following = this.read()) {
      const { following } = this;
      if (!geometry || !following.geometry || !this.isSame(values, following.values)) break;
      this.parts.push(following.geometry);
      this.joined++;
    }
    return true;
  }

  values(): readonly unknown[] {
    const { values, failure } = this.current!;
    if (failure) throw failure;
    return values;
  }

  geometry(): Buffer | undefined {
    const [first, ...others] = this.parts;
    return first && others.length > 0 ? collected(this.parts) : first;
  }

  close(): void {
    this.source.close();
  }

  /** The next feature, in memory of its own. */
  private read(): Part | undefined {
    const { source } = this;
    if (!source.next()) return undefined;
    try {
      const geometry = source.geometry();
      return { id: source.id, values: [...source.values()], geometry: geometry && Buffer.from(geometry) };
    } catch (error) {
      // It is this feature's, which is not the current one yet.
      if (!(error instanceof BadFeature)) throw error;
      return { id: source.id, values: [], geometry: undefined, failure: error };
    }
  }

  private isSame(values: readonly unknown[], others: readonly unknown[]): boolean {
    const id = values[this.idIndex];
    return id !== null && id !== undefined && values.every((value, index) => value === others[index]);
  }
}

interface Part {
  readonly id: number;
  readonly values: readonly unknown[];
  /** As little-endian ISO WKB in two dimensions. */
  readonly geometry: Buffer | undefined;
  /** Why it cannot be read. */
  readonly failure?: BadFeature;
}

const point = 1;
const multiPoint = 4;
const collection = 7;

function collected(parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(9);
  head[0] = 1;
  head.writeUInt32LE(parts.every((part) => part.readUInt32LE(1) === point) ? multiPoint : collection, 1);
  head.writeUInt32LE(parts.length, 5);
  return Buffer.concat([head, ...parts]);
}
