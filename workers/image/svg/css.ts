import type { SvgNode } from "./tree.js";

/** Style sheets in SVGs, as drawing programs write them: rules for classes, ids and elements, without combinations. */

const maxRules = 500;

interface CssRule {
  /** `.class`, `#id` or the name of an element. */
  readonly selector: string;
  readonly declarations: ReadonlyMap<string, string>;
}

/** The declarations of `a: b; c: d`. */
function declarationsOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of text.split(";")) {
    const colon = part.indexOf(":");
    if (colon > 0) {
      const value = part.slice(colon + 1).replace(/!\s*important\s*$/, "");
      found.set(part.slice(0, colon).trim().toLowerCase(), value.trim());
    }
  }
  return found;
}

/** The rules of all style sheets in the tree, in their order. Selectors of other forms are left out. */
export function rulesIn(root: SvgNode): CssRule[] {
  const rules: CssRule[] = [];
  const visit = (node: SvgNode): void => {
    if (node.name === "style") {
      const text = node.text.replace(/\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//g, "");
      for (const [, selectors = "", body = ""] of text.matchAll(/([^{}]*)\{([^{}]*)\}/g)) {
        const declarations = declarationsOf(body);
        for (const selector of selectors.split(",").map((one) => one.trim())) {
          if (/^[.#]?[\w-]{1,100}$/.test(selector) && rules.length < maxRules)
            rules.push({ selector, declarations });
        }
      }
    }
    for (const child of node.children) visit(child);
  };
  visit(root);
  return rules;
}

/** What the rules and the element's own `style` set for it; the latter wins, then ids, classes and names. */
export function styleOf(node: SvgNode, rules: readonly CssRule[]): Map<string, string> {
  const classes = new Set((node.attributes.get("class") ?? "").split(/\s+/).map((one) => `.${one}`));
  const id = `#${node.attributes.get("id") ?? ""}`;
  const kinds: ((selector: string) => boolean)[] = [
    (selector) => selector === node.name,
    (selector) => classes.has(selector),
    (selector) => selector === id,
  ];
  const result = new Map<string, string>();
  for (const applies of kinds)
    for (const { selector, declarations } of rules)
      if (applies(selector)) for (const [name, value] of declarations) result.set(name, value);
  for (const [name, value] of declarationsOf(node.attributes.get("style") ?? "")) result.set(name, value);
  return result;
}
