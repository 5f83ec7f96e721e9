import { h, icon, s } from "./dom.js";
import type { TreeItem } from "./layer-tree.js";

/** A legend symbol of a layer, from the first colours in its style. */

type Kind = "polygon" | "line" | "point" | "text";

interface LegendSymbol {
  readonly kind: Kind;
  readonly fill: string | undefined;
  readonly stroke: string | undefined;
}

/** The first of the properties that has a constant colour in the style. */
function firstColour(css: string, properties: readonly string[]): string | undefined {
  for (const property of properties) {
    const pattern = new RegExp(`(?:^|[\\s{;/])${property}\\s*:\\s*([^;}]+)`, "g");
    for (const match of css.matchAll(pattern)) {
      const value = resolve(css, match[1]!.trim());
      if (value && value !== "transparent" && value !== "none" && CSS.supports("color", value)) return value;
    }
  }
  return undefined;
}

/** Resolves a variable (`@water`), at most 8 levels deep. */
function resolve(css: string, value: string): string | undefined {
  let text = value;
  for (let step = 0; step < 8 && text.startsWith("@"); step++) {
    const name = /^@[\w-]+/.exec(text)?.[0];
    const next = name && new RegExp(`${name}\\s*:\\s*([^;]+);`).exec(css)?.[1]?.trim();
    if (!next) return undefined;
    text = next;
  }
  return text;
}

function symbolOf(css: string): LegendSymbol | undefined {
  const clean = css.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/[^\n]*/g, "$1");
  const fill = firstColour(clean, ["polygon-fill", "building-fill"]);
  const line = firstColour(clean, ["line-color"]);
  const marker = firstColour(clean, ["marker-fill"]);
  if (fill) return { kind: "polygon", fill, stroke: line };
  if (marker) return { kind: "point", fill: marker, stroke: firstColour(clean, ["marker-line-color"]) };
  if (line) return { kind: "line", fill: undefined, stroke: line };
  const text = firstColour(clean, ["text-fill", "shield-fill"]);
  return text ? { kind: "text", fill: text, stroke: undefined } : undefined;
}

/** The symbol of a layer or folder in the tree, hidden from screen readers. */
export function swatch(item: TreeItem): HTMLElement {
  const box = h("span", { class: "swatch", "aria-hidden": "true" });
  if (item.isFolder) {
    box.append(icon("folder"));
    return box;
  }
  const symbol = symbolOf(item.element.css_style ?? "");
  if (!symbol) {
    box.append(icon("layers"));
    return box;
  }
  const svg = s("svg", { viewBox: "0 0 18 18", focusable: "false" });
  const paint = { fill: symbol.fill ?? "none", stroke: symbol.stroke ?? "none", "stroke-width": "1.5" };
  if (symbol.kind === "polygon")
    svg.append(s("rect", { ...paint, x: "2", y: "2", width: "14", height: "14", rx: "3.5" }));
  if (symbol.kind === "point") svg.append(s("circle", { ...paint, cx: "9", cy: "9", r: "5" }));
  if (symbol.kind === "line") {
    svg.append(
      s("path", {
        ...paint,
        fill: "none",
        "stroke-width": "2.5",
        "stroke-linecap": "round",
        d: "M2.5 14C7 14 6 4 15.5 4",
      }),
    );
  }
  if (symbol.kind === "text") {
    svg.append(
      s("path", {
        ...paint,
        fill: "none",
        stroke: symbol.fill ?? "",
        "stroke-width": "2",
        "stroke-linecap": "round",
        d: "M4 4.500h10M9 4.500v9.5",
      }),
    );
  }
  box.append(svg);
  return box;
}

/** Side of a layer's symbol. */
export const symbolPixels = 20;

/** A symbol as tiles draw it. That of a folded legend is not loaded. */
export const symbolImage = (address: string): HTMLImageElement =>
  h("img", {
    loading: "lazy",
    src: address,
    alt: "",
    width: symbolPixels,
    height: symbolPixels,
    decoding: "async",
  });

/** As `swatch`, and as tiles draw it once that is loaded: a visualization has other colours than the style. */
export function drawnSwatch(item: TreeItem, symbol: Promise<string>): HTMLElement {
  const box = swatch(item);
  symbol.then(
    (address) => box.replaceChildren(symbolImage(address)),
    () => undefined, // that of the style stays
  );
  return box;
}
