/** Ways to write the rows of a PNG: what is compressed later. Each row begins with the number of its filter. */

/** RGBA, 4 bytes a pixel, row by row; colours are not multiplied by alpha. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgba: Buffer;
}

/** What the header of a PNG tells of its rows. */
export interface PngKind {
  readonly width: number;
  readonly height: number;
  readonly depth: 1 | 2 | 4 | 8;
  /** 2 = RGB, 3 = palette, 6 = RGBA. */
  readonly colorType: 2 | 3 | 6;
}

export interface IndexedRows extends PngKind {
  readonly rows: Buffer;
  /** RGB of each colour. */
  readonly palette: Buffer;
  /** Alpha of the first colours; those that follow are opaque. */
  readonly alphas: Buffer;
}

export interface PlainRows extends PngKind {
  /** 3 or 4 bytes a pixel, without filters. */
  readonly samples: Buffer;
}

const mostColors = 256;
/** Rows that are filtered without a pause. */
const rowsAtOnce = 64;

/** The rows as numbers of colours; undefined = there are too many colours. */
export function indexed({ width, height, rgba }: Pixels): IndexedRows | undefined {
  const numbers = new Map<number, number>();
  const indexes = new Uint8Array(width * height);
  for (let pixel = 0; pixel < indexes.length; pixel++) {
    const color = rgba.readUInt32LE(4 * pixel);
    let number = numbers.get(color);
    if (number === undefined) {
      number = numbers.size;
      if (number === mostColors) return undefined;
      numbers.set(color, number);
    }
    indexes[pixel] = number;
  }
  // Opaque colours last, as their alpha need not be written.
  const colors = [...numbers.keys()].sort((one, other) => (one >>> 24) - (other >>> 24) || one - other);
  const order = new Uint8Array(mostColors);
  for (const [place, color] of colors.entries()) order[numbers.get(color)!] = place;
  const palette = Buffer.from(
    colors.flatMap((color) => [color & 255, (color >>> 8) & 255, (color >>> 16) & 255]),
  );
  const alphas = Buffer.from(colors.map((color) => color >>> 24).filter((alpha) => alpha < 255));
  const depth = colors.length <= 2 ? 1 : colors.length <= 4 ? 2 : colors.length <= 16 ? 4 : 8;
  const perByte = 8 / depth;
  const rowBytes = 1 + Math.ceil(width / perByte);
  const rows = Buffer.alloc(rowBytes * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const shift = 8 - depth - depth * (x % perByte);
      rows[y * rowBytes + 1 + Math.floor(x / perByte)]! |= order[indexes[y * width + x]!]! << shift;
    }
  }
  return { width, height, depth, colorType: 3, rows, palette, alphas };
}

/** RGB if all is opaque, else RGBA. */
export function withoutOpaqueAlpha({ width, height, rgba }: Pixels): PlainRows {
  const kind = { width, height, depth: 8 } as const;
  for (let at = 3; at < rgba.length; at += 4)
    if (rgba[at] !== 255) return { ...kind, colorType: 6, samples: rgba };
  const samples = Buffer.allocUnsafe(3 * width * height);
  for (let pixel = 0; pixel < width * height; pixel++)
    for (let sample = 0; sample < 3; sample++) samples[3 * pixel + sample] = rgba[4 * pixel + sample]!;
  return { ...kind, colorType: 2, samples };
}

/**
 * Rows without filters, or each with the filter whose bytes are least in sum, which usually compress best (PNG, 12.7).
 * @param pause called from time to time; what it throws is thrown
 */
export async function filtered(
  { width, height, colorType, samples }: PlainRows,
  kind: "none" | "least",
  pause: () => Promise<void>,
): Promise<Buffer> {
  const step = colorType === 2 ? 3 : 4;
  const length = step * width;
  const rows = Buffer.alloc((length + 1) * height);
  const tried = Buffer.alloc(length);
  for (let y = 0; y < height; y++) {
    const row = samples.subarray(y * length, (y + 1) * length);
    const target = y * (length + 1);
    rows.set(row, target + 1);
    if (kind === "none") continue;
    const above = y === 0 ? Buffer.alloc(length) : samples.subarray((y - 1) * length, y * length);
    let least = sumOf(row);
    for (let filter = 1; filter <= 4; filter++) {
      filterRow(filter, { row, above, step }, tried);
      const sum = sumOf(tried);
      if (sum >= least) continue;
      least = sum;
      rows[target] = filter;
      rows.set(tried, target + 1);
    }
    if (y % rowsAtOnce === rowsAtOnce - 1) await pause();
  }
  return rows;
}

interface Row {
  readonly row: Uint8Array;
  readonly above: Uint8Array;
  /** Bytes of a pixel. */
  readonly step: number;
}

/** The filters of PNG, 9.2: 1 = sub, 2 = up, 3 = average, 4 = Paeth. */
function filterRow(filter: number, { row, above, step }: Row, target: Uint8Array): void {
  for (let at = 0; at < row.length; at++) {
    const left = at < step ? 0 : row[at - step]!;
    const up = above[at]!;
    const corner = at < step ? 0 : above[at - step]!;
    const predicted =
      filter === 1 ? left : filter === 2 ? up : filter === 3 ? (left + up) >> 1 : paeth(left, up, corner);
    target[at] = row[at]! - predicted;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const toLeft = Math.abs(up - corner);
  const toUp = Math.abs(left - corner);
  const toCorner = Math.abs(left + up - 2 * corner);
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

/** Of the bytes as signed numbers, without their signs. */
function sumOf(bytes: Uint8Array): number {
  let sum = 0;
  for (let at = 0; at < bytes.length; at++) sum += bytes[at]! < 128 ? bytes[at]! : 256 - bytes[at]!;
  return sum;
}
