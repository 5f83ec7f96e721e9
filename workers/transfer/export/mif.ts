import { Cp1251Text } from "./cp1251-text.js";
import type { Field, FieldValue } from "./flatgeobuf.js";
import { type Role, role, WkbRuns } from "./wkb-runs.js";

/**
 * Writes MapInfo Interchange Format: `.mif` has columns and geometries, `.mid` the values, a line for each object. Coordinates
 * have all digits of their doubles.
 */

const coordSystems: Readonly<Record<4326 | 3857, string>> = {
  4326: "CoordSys Earth Projection 1, 104",
  3857: 'CoordSys Earth Projection 10, 157, "m", 0',
};

export interface MifHeader {
  /** Texts and numbers; names in ASCII. */
  readonly fields: readonly Field[];
  readonly srid: 4326 | 3857;
  /** Whether there are objects of several points or of several kinds, which the format has since MapInfo 6.5. */
  readonly hasCollections: boolean;
}

/** The styles that GDAL writes for geometry without one. */
const pen = "    Pen (1,2,0)\n";
const brush = "    Brush (1,0,16777215)\n";
const symbol = "    Symbol (35,0,12)\n";

export class MifEncoder {
  /** Of the .mif. */
  readonly geometries = new Cp1251Text();
  /** Of the .mid. */
  readonly values = new Cp1251Text();
  private readonly runs = new WkbRuns();

  constructor(private readonly header: MifHeader) {
    const { fields, srid, hasCollections } = header;
    const columns = fields.map((field) => `  ${field.name} ${columnType(field)}\n`);
    this.geometries.add(
      `Version ${hasCollections ? 650 : 300}\nCharset "WindowsCyrillic"\nDelimiter ","\n${coordSystems[srid]}\n` +
        `Columns ${fields.length}\n${columns.join("")}Data\n\n`,
    );
  }

  /**
   * @param wkb little-endian ISO WKB; heights are left out
   * @param values in the order of the fields: texts of Windows-1251 without carriage returns, finite numbers
   */
  add(wkb: Buffer | null, values: readonly FieldValue[]): void {
    if (wkb) this.runs.read(wkb);
    if (!wkb || this.runs.length === 0) this.geometries.add("NONE\n");
    else this.geometry();
    this.row(values);
  }

  private geometry(): void {
    const { runs, geometries } = this;
    const points = this.count(role.point);
    const lines = this.count(role.line);
    const rings = this.count(role.shell) + this.count(role.hole);
    const kinds = (points > 0 ? 1 : 0) + (lines > 0 ? 1 : 0) + (rings > 0 ? 1 : 0);
    if (kinds > 1) geometries.add(`Collection ${kinds}\n`);
    if (rings > 0) this.region(rings);
    if (lines > 0) this.lines(lines);
    if (points === 0) return;
    if (points === 1 && !runs.isMulti) {
      geometries.add("Point ");
      this.position(runs.offsets[0]!);
    } else {
      geometries.add(`Multipoint ${points}\n`);
      for (let run = 0; run < runs.length; run++)
        if (runs.roles[run] === role.point) this.position(runs.offsets[run]!);
    }
    geometries.add(symbol);
  }

  private count(as: Role): number {
    let count = 0;
    for (let run = 0; run < this.runs.length; run++) if (this.runs.roles[run] === as) count++;
    return count;
  }

  /** Readers find out by their places which rings are holes. */
  private region(rings: number): void {
    const { runs, geometries } = this;
    geometries.add(`Region ${rings}\n`);
    for (let run = 0; run < runs.length; run++)
      if (runs.roles[run] === role.shell || runs.roles[run] === role.hole) {
        geometries.add(`  ${runs.counts[run]}\n`);
        this.positions(run);
      }
    geometries.add(pen);
    geometries.add(brush);
  }

  private lines(lines: number): void {
    const { runs, geometries } = this;
    geometries.add(lines === 1 ? "Pline" : `Pline Multiple ${lines}\n`);
    for (let run = 0; run < runs.length; run++)
      if (runs.roles[run] === role.line) {
        geometries.add(` ${runs.counts[run]}\n`);
        this.positions(run);
      }
    geometries.add(pen);
  }

  private positions(run: number): void {
    const { offsets, counts, stride } = this.runs;
    const end = offsets[run]! + stride * counts[run]!;
    for (let at = offsets[run]!; at < end; at += stride) this.position(at);
  }

  private position(at: number): void {
    const { view } = this.runs;
    this.geometries.number(view.getFloat64(at, true));
    this.geometries.byte(0x20);
    this.geometries.number(view.getFloat64(at + 8, true));
    this.geometries.byte(0x0a);
  }

  private row(row: readonly FieldValue[]): void {
    const { values } = this;
    const { fields } = this.header;
    for (let index = 0; index < fields.length; index++) {
      if (index > 0) values.byte(0x2c);
      const value = row[index];
      if (fields[index]!.type === "text") {
        values.byte(0x22);
        if (typeof value === "string") values.add(escaped(value));
        values.byte(0x22);
      } else if (typeof value === "number") values.decimal(value, fields[index]!.decimals ?? 0);
    }
    values.byte(0x0a);
  }
}

/** Ids have up to 16 digits. */
function columnType({ type, width, decimals = 0 }: Field): string {
  if (type === "long") return "Decimal(16,0)";
  return type === "text" ? `Char(${width})` : `Decimal(${width},${decimals})`;
}

const special = /["\n]/;

/** Within quotes: quotes are doubled; a line break is a backslash and n, since each line is an object. */
const escaped = (text: string): string =>
  special.test(text) ? text.replace(/"/g, '""').replace(/\n/g, "\\n") : text;
