import { decimalText } from "./decimal-text.js";
import type { Field, FieldValue } from "./flatgeobuf.js";
import { Unwritable } from "./unwritable.js";

/** Writes a dBASE III table, the attributes of a shapefile. Values that are missing are blank. */

/** Of an id: every whole number that a double has exactly. */
const idWidth = 16;
/** Lengths of the header and of a record are numbers of 16 bits. */
const longest = 65_535;
const blank = 0x20;

/** A field with its place in a record. */
interface PlacedField {
  readonly name: string;
  readonly type: "C" | "N";
  readonly at: number;
  readonly width: number;
  readonly decimals: number;
}

export class DbaseEncoder {
  private readonly fields: readonly PlacedField[];
  private readonly recordBytes: number;
  private buffer = Buffer.allocUnsafeSlow(4 * 1024 ** 2);
  private used = 0;
  private records = 0;

  /**
   * @param fields texts and numbers of a known width; names in ASCII, of 10 characters
   * @throws Unwritable when they are too many
   */
  constructor(fields: readonly Field[]) {
    // The mark of deleted records.
    let at = 1;
    this.fields = fields.map((field) => {
      const placed = place(field, at);
      at += placed.width;
      return placed;
    });
    this.recordBytes = at;
    if (this.headerBytes > longest || this.recordBytes > longest)
      throw new Unwritable(
        "too_large",
        "The table of a shapefile has no room for so many columns of such texts. Choose fewer columns.",
      );
  }

  /** Bytes of the records that were not taken yet. */
  get length(): number {
    return this.used;
  }

  /** The records since the last call. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.used);
    this.buffer = Buffer.allocUnsafeSlow(this.buffer.length);
    this.used = 0;
    return taken;
  }

  /** @param values in the order of the fields */
  add(values: readonly FieldValue[]): void {
    const { fields, recordBytes } = this;
    if (this.used + recordBytes > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * this.buffer.length + recordBytes);
      this.buffer.copy(larger, 0, 0, this.used);
      this.buffer = larger;
    }
    const { buffer, used } = this;
    buffer.fill(blank, used, used + recordBytes);
    for (let index = 0; index < fields.length; index++) {
      const value = values[index];
      if (value === null || value === undefined) continue;
      const field = fields[index]!;
      if (field.type === "C") buffer.write(String(value), used + field.at, field.width, "utf8");
      else {
        const text = decimalText(value as number, field.decimals);
        const from = used + field.at + field.width - text.length;
        for (let unit = 0; unit < text.length; unit++) buffer[from + unit] = text.charCodeAt(unit);
      }
    }
    this.used = used + recordBytes;
    this.records++;
  }

  get headerBytes(): number {
    return 32 * this.fields.length + 33;
  }

  /** The table's beginning, when all records were added. */
  header(): Buffer {
    const out = Buffer.alloc(this.headerBytes);
    const now = new Date();
    out[0] = 3;
    out[1] = now.getUTCFullYear() - 1900;
    out[2] = now.getUTCMonth() + 1;
    out[3] = now.getUTCDate();
    out.writeUInt32LE(this.records, 4);
    out.writeUInt16LE(this.headerBytes, 8);
    out.writeUInt16LE(this.recordBytes, 10);
    for (const [index, { name, type, width, decimals }] of this.fields.entries()) {
      const at = 32 * (index + 1);
      out.write(name, at, 10, "latin1");
      out.write(type, at + 11, "latin1");
      out[at + 16] = width;
      out[at + 17] = decimals;
    }
    out[this.headerBytes - 1] = 0x0d;
    return out;
  }
}

/** The byte after the last record. */
export const dbaseEnd = Buffer.from([0x1a]);

function place({ name, type, width, decimals = 0 }: Field, at: number): PlacedField {
  if (type === "long") return { name, type: "N", at, width: idWidth, decimals: 0 };
  if (width === undefined) throw new Error(`The width of the field ${name} is not known.`);
  return { name, type: type === "double" ? "N" : "C", at, width, decimals };
}
