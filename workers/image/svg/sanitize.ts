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
 * Bounds on coordinates, on how much transformations enlarge them, also along uses, and on the sum of all that is drawn:
 * curves are drawn in steps of some pixels, so that these bound the work.
 */
const maxCoordinate = 1e5;
const maxGrowth = 1e3;
const maxSum = 1e7;

/** @throws SvgRefusal */
export function sanitizeSvg(source: string): SafeSvg {
  const root = readSvg(source.replace(/^\ufeff/, ""));
  const { width, height, viewBox } = sizeOf(root);
  const writer = new Writer(root);
  const inner = root.children.map((child) => writer.element(child)).join("");
  const own = writer.attributes(root, presentation);
  writer.checkDrawn();
  const attributes = [
    'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"',
    `width="${width}" height="${height}" viewBox="${viewBox.join(" ")}"${own}`,
  ].join(" ");
  // Mapnik takes the box around all shapes for the size of a picture, also of those that are not seen.
  const [x, y, across, down] = viewBox;
  const frame = `<path d="M${x} ${y}h${across}v${down}h-${across}z" fill="none" stroke="none"/>`;
  return { text: `<svg ${attributes}>${frame}${inner}</svg>`, width, height };
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
  /** Of the elements themselves. */
  private readonly measures = new Map<SvgNode, Measure>();

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

  element(node: SvgNode): string {
    if (node.name === "style") return "";
    // A picture in a picture would have its own size.
    const name = node.name === "svg" ? "g" : node.name;
    const attributes = this.attributes(node, name === "g" ? { ...presentation, ...groupGeometry } : all);
    const inner = node.children.map((child) => this.element(child)).join("");
    return inner === "" ? `<${name}${attributes}/>` : `<${name}${attributes}>${inner}</${name}>`;
  }

  attributes(node: SvgNode, allowed: typeof presentation): string {
    const style = styleOf(node, this.rules);
    const written = new Map<string, string>();
    for (const [name, check] of Object.entries(allowed)) {
      const own =
        name in presentation ? (style.get(name) ?? node.attributes.get(name)) : node.attributes.get(name);
      const value = own === undefined ? undefined : check(own.trim());
      if (value !== undefined) written.set(name, value);
    }
    this.measures.set(node, measureOf(written));
    const text = [...written].map(([name, value]) => ` ${name}="${value}"`).join("");
    const target = reference(node.attributes.get("href") ?? "");
    return target === undefined ? text : `${text} xlink:href="#${target}"`;
  }

  /** Uses may not lead in circles, nor multiply what is drawn. */
  checkDrawn(): void {
    const totals = new Map<SvgNode, Drawn>();
    const pending = new Set<SvgNode>();
    const total = (node: SvgNode): Drawn => {
      const known = totals.get(node);
      if (known !== undefined) return known;
      if (pending.has(node)) throw new SvgRefusal("Its elements refer to each other in a circle.");
      if (pending.size > 500) throw new SvgRefusal("Its elements refer to each other too deeply.");
      pending.add(node);
      const id = reference(node.attributes.get("href") ?? "");
      if (id !== undefined && this.ambiguous.has(id))
        throw new SvgRefusal("It refers to an id that several elements have.");
      const target = id === undefined ? undefined : this.byId.get(id);
      const own = this.measures.get(node) ?? nothing;
      const drawn = { elements: 1, sum: own.sum, growth: 1 };
      for (const part of [...node.children, ...(target ? [target] : [])]) {
        const one = total(part);
        drawn.elements += one.elements;
        drawn.sum += one.sum;
        drawn.growth = Math.max(drawn.growth, one.growth);
      }
      drawn.sum *= own.growth;
      drawn.growth *= own.growth;
      if (drawn.elements > maxDrawn)
        throw new SvgRefusal(`It has more than ${maxDrawn} elements when its uses are drawn.`);
      if (drawn.growth > maxGrowth) throw new SvgRefusal("Its transformations enlarge too much.");
      if (drawn.sum > maxSum) throw new SvgRefusal("Its shapes are too long.");
      pending.delete(node);
      totals.set(node, drawn);
      return drawn;
    };
    total(this.root);
  }
}

/** What an element has itself: the sum of its coordinates, and how much its transformations enlarge what is in it. */
interface Measure {
  readonly sum: number;
  readonly growth: number;
}

/** What an element draws with all that is in it and that it uses. */
interface Drawn extends Measure {
  readonly elements: number;
}

const nothing: Measure = { sum: 0, growth: 1 };

/** @param attributes as they are written @throws SvgRefusal */
function measureOf(attributes: ReadonlyMap<string, string>): Measure {
  let sum = 0;
  for (const [name, value] of attributes) {
    if (!coordinates.has(name)) continue;
    for (const one of numbersIn(value)) {
      if (!(Math.abs(one) <= maxCoordinate)) throw new SvgRefusal("It has a coordinate out of range.");
      sum += Math.abs(one);
    }
  }
  const growth =
    growthOf(attributes.get("transform")) * Math.max(1, growthOf(attributes.get("gradientTransform")));
  return { sum, growth };
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
