import { rulesIn, styleOf } from "./css.js";
import { readSvg, type SvgNode, SvgRefusal } from "./tree.js";
import { geometry, numbersIn, pixels, presentation, reference } from "./values.js";

/**
 * Writes an SVG anew with only what Mapnik draws: shapes, gradients and uses of them, with checked attributes. Scripts,
 * texts, images, filters, links and what other programs noted are left out.
 */

export interface SafeSvg {
  readonly text: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

export const maxPictureSide = 1024;
/** Elements after all uses are written out. */
const maxDrawn = 50_000;
/**
 * Bounds on coordinates, on how much transformations enlarge them, and on the sum of all: curves are drawn in steps of
 * some pixels, so that these bound the work.
 */
const maxCoordinate = 1e5;
const maxGrowth = 1e3;
const maxSum = 1e7;

/** @throws SvgRefusal */
export function sanitizeSvg(source: string): SafeSvg {
  const root = readSvg(source.replace(/^\ufeff/, ""));
  const { width, height, viewBox } = sizeOf(root);
  const writer = new Writer(root);
  const inner = root.children.map((child) => writer.element(child, 1)).join("");
  writer.checkUses();
  const attributes = [
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"',
    `width="${width}" height="${height}" viewBox="${viewBox.join(" ")}"${writer.attributes(root, presentation)}`,
  ].join(" ");
  return { text: `<svg ${attributes}>${inner}</svg>`, width, height };
}

function sizeOf(root: SvgNode): { width: number; height: number; viewBox: number[] } {
  const box = numbersIn(root.attributes.get("viewBox") ?? "");
  const hasBox = box.length === 4 && (box[2] as number) > 0 && (box[3] as number) > 0;
  const [, , boxWidth, boxHeight] = hasBox ? box : [];
  const given = {
    width: pixels(root.attributes.get("width")),
    height: pixels(root.attributes.get("height")),
  };
  const ratio = boxWidth && boxHeight ? boxWidth / boxHeight : undefined;
  const width = given.width ?? (given.height && ratio ? given.height * ratio : boxWidth);
  const height = given.height ?? (given.width && ratio ? given.width / ratio : boxHeight);
  if (!width || !height || width < 1 || height < 1)
    throw new SvgRefusal("It has no width and height of at least one pixel, and no viewBox.");
  if (width > maxPictureSide || height > maxPictureSide)
    throw new SvgRefusal(`It is larger than ${maxPictureSide} × ${maxPictureSide} pixels.`);
  const viewBox = hasBox ? box : [0, 0, width, height];
  if (viewBox.some((value) => Math.abs(value) > maxCoordinate) || width / (viewBox[2] as number) > maxGrowth)
    throw new SvgRefusal("Its viewBox is out of range.");
  return { width, height, viewBox };
}

class Writer {
  private readonly rules;
  private readonly byId = new Map<string, SvgNode>();
  /** Ids that several elements have. */
  private readonly ambiguous = new Set<string>();
  /** Of the coordinates of an element itself. */
  private readonly sums = new Map<SvgNode, number>();

  constructor(private readonly root: SvgNode) {
    this.rules = rulesIn(root);
    // As they are written: other elements have no id then, whatever they had.
    const visit = (node: SvgNode): void => {
      const own = node.attributes.get("id");
      const id = own === undefined || node.name === "style" ? undefined : geometry.id!(own.trim());
      if (id !== undefined) {
        if (this.byId.has(id)) this.ambiguous.add(id);
        else this.byId.set(id, node);
      }
      for (const child of node.children) visit(child);
    };
    for (const child of root.children) visit(child);
  }

  /** @param growth how much the elements around it enlarge it */
  element(node: SvgNode, growth: number): string {
    if (node.name === "style") return "";
    // A picture in a picture would have its own size.
    const name = node.name === "svg" ? "g" : node.name;
    const total =
      growth *
      growthOf(node.attributes.get("transform")) *
      Math.max(1, growthOf(node.attributes.get("gradientTransform")));
    if (total > maxGrowth) throw new SvgRefusal("Its transformations enlarge too much.");
    this.measure(node, total);
    const attributes = this.attributes(node, name === "g" ? { ...presentation, ...groupGeometry } : all);
    const inner = node.children.map((child) => this.element(child, total)).join("");
    return inner === "" ? `<${name}${attributes}/>` : `<${name}${attributes}>${inner}</${name}>`;
  }

  attributes(node: SvgNode, allowed: typeof presentation): string {
    const style = styleOf(node, this.rules);
    let text = "";
    for (const [name, check] of Object.entries(allowed)) {
      const own =
        name in presentation ? (style.get(name) ?? node.attributes.get(name)) : node.attributes.get(name);
      const value = own === undefined ? undefined : check(own.trim());
      if (value !== undefined) text += ` ${name}="${value}"`;
    }
    const target = reference(node.attributes.get("href") ?? "");
    return target === undefined ? text : `${text} xlink:href="#${target}"`;
  }

  /** Uses may not lead in circles, nor multiply what is drawn. */
  checkUses(): void {
    const counts = new Map<SvgNode, { elements: number; sum: number }>();
    const pending = new Set<SvgNode>();
    const count = (node: SvgNode): { elements: number; sum: number } => {
      const known = counts.get(node);
      if (known !== undefined) return known;
      if (pending.has(node)) throw new SvgRefusal("Its elements refer to each other in a circle.");
      if (pending.size > 500) throw new SvgRefusal("Its elements refer to each other too deeply.");
      pending.add(node);
      const id = reference(node.attributes.get("href") ?? "");
      if (id !== undefined && this.ambiguous.has(id))
        throw new SvgRefusal("It refers to an id that several elements have.");
      const target = id === undefined ? undefined : this.byId.get(id);
      let elements = 1;
      let sum = this.sums.get(node) ?? 0;
      for (const part of [...node.children, ...(target ? [target] : [])]) {
        const one = count(part);
        elements += one.elements;
        sum += one.sum;
      }
      if (elements > maxDrawn)
        throw new SvgRefusal(`It has more than ${maxDrawn} elements when its uses are drawn.`);
      if (sum > maxSum) throw new SvgRefusal("Its shapes are too long.");
      pending.delete(node);
      counts.set(node, { elements, sum });
      return { elements, sum };
    };
    count(this.root);
  }

  private measure(node: SvgNode, growth: number): void {
    let sum = 0;
    for (const [name, value] of node.attributes) {
      if (!coordinates.has(name)) continue;
      for (const one of numbersIn(value)) {
        if (!(Math.abs(one) <= maxCoordinate)) throw new SvgRefusal("It has a coordinate out of range.");
        sum += Math.abs(one) * Math.max(1, growth);
      }
    }
    this.sums.set(node, sum);
  }
}

const all = { ...presentation, ...geometry };
const groupGeometry = { transform: geometry.transform!, id: geometry.id! };
const coordinates: ReadonlySet<string> = new Set([
  ...["d", "points", "x", "y", "width", "height", "rx", "ry", "r", "cx", "cy", "x1", "y1", "x2", "y2"],
  ...["stroke-width", "transform", "gradientTransform"],
]);

/** How much a list of transformations enlarges, at most. */
function growthOf(text: string | undefined): number {
  let growth = 1;
  for (const [, name, list = ""] of (text ?? "").matchAll(/(\w+)\s*\(([^)]*)\)/g)) {
    const values = numbersIn(list).map(Math.abs);
    const [a = 0, b = 0, c = 0, d = 0] = values;
    if (name === "scale") growth *= Math.max(1, ...values);
    if (name === "matrix") growth *= Math.max(1, a + c, b + d);
    if (name === "skewX" || name === "skewY") growth *= a <= 80 ? 7 : Number.POSITIVE_INFINITY;
  }
  return growth;
}
