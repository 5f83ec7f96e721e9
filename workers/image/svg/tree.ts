import { SaxesParser } from "saxes";

/** The elements of an SVG that draw something, as a tree. Nothing that the document names is opened. */

/** An SVG is refused. The message is a sentence for its author. */
export class SvgRefusal extends Error {}

export interface SvgNode {
  readonly name: string;
  /** By name; those of other namespaces are left out, but for `xlink:href`, which is `href`. */
  readonly attributes: Map<string, string>;
  readonly children: SvgNode[];
  /** Of `style` only. */
  text: string;
}

const svgNamespace = "http://www.w3.org/2000/svg";
const xlinkNamespace = "http://www.w3.org/1999/xlink";
const maxElements = 20_000;
const maxAttributes = 64;
/** Mapnik's reader calls itself for each level. */
const maxDepth = 32;

/** Elements that Mapnik draws, or that others refer to. All else is left out with what it holds. */
const kept: ReadonlySet<string> = new Set([
  ...[
    "svg",
    "g",
    "defs",
    "symbol",
    "use",
    "path",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
  ],
  ...["linearGradient", "radialGradient", "stop", "style"],
]);

/**
 * @throws SvgRefusal when it is no well-formed SVG, declares entities, or has more elements than a picture
 */
export function readSvg(text: string): SvgNode {
  const parser = new SaxesParser({ xmlns: true });
  const open: (SvgNode | undefined)[] = [];
  let root: SvgNode | undefined;
  let elements = 0;
  parser.on("error", () => {
    throw new SvgRefusal("It is not well-formed XML.");
  });
  parser.on("doctype", (declaration) => {
    // Entities can stand for gigabytes or for files.
    if (declaration.includes("[")) throw new SvgRefusal("It declares entities, which are not allowed.");
  });
  parser.on("opentag", (tag) => {
    if (++elements > maxElements) throw new SvgRefusal(`It has more than ${maxElements} elements.`);
    if (open.length >= maxDepth) throw new SvgRefusal(`Its elements are nested deeper than ${maxDepth}.`);
    const parent = open.at(-1);
    const isRoot = open.length === 0;
    // Some programs leave the namespace out.
    const isSvg = tag.uri === svgNamespace || tag.uri === "";
    if (isRoot && !(isSvg && tag.local === "svg")) throw new SvgRefusal("It is no SVG.");
    if (!isSvg || !kept.has(tag.local) || (!isRoot && !parent)) {
      open.push(undefined);
      return;
    }
    const all = Object.values(tag.attributes);
    if (all.length > maxAttributes) throw new SvgRefusal("An element has too many attributes.");
    const attributes = new Map<string, string>();
    for (const { local, uri, value } of all)
      if (uri === "" || (uri === xlinkNamespace && local === "href")) attributes.set(local, value);
    const node: SvgNode = { name: tag.local, attributes, children: [], text: "" };
    if (parent) parent.children.push(node);
    else root = node;
    open.push(node);
  });
  const addText = (part: string) => {
    const node = open.at(-1);
    if (node?.name === "style") node.text += part;
  };
  parser.on("text", addText);
  parser.on("cdata", addText);
  parser.on("closetag", () => {
    open.pop();
  });
  parser.write(text).close();
  if (!root) throw new SvgRefusal("It is no SVG.");
  return root;
}
