/**
 * Evaluates a layer's CartoCSS to decide which objects are visible at a zoom, so that a click finds visible objects only.
 * Objects count as visible when the style cannot be evaluated.
 */

type Fields = Readonly<Record<string, unknown>>;
type Test = (zoom: number, fields: Fields) => boolean;

export interface Visibility {
  (zoom: number, fields: Fields): boolean;
  /** Value for the API's `sort` that lists the most prominent objects first; undefined when the style has no such filter. */
  readonly sort: string | undefined;
}

interface Block {
  /** The block applies when any of these matches. */
  readonly selectors: readonly Test[];
  readonly blocks: Block[];
  /** Has a symbolizer property. */
  draws: boolean;
}

const symbols = /^(?:[\w-]+\/)?(?:polygon|line|marker|point|text|shield|dot|building)-/;
const condition = /\[\s*["']?([\w:]+)["']?\s*(!=|>=|<=|=|>|<)\s*("[^"]*"|'[^']*'|-?[\d.]+|\w+)\s*\]/g;

/** The visibility test of a style; a style that cannot be parsed makes everything visible. */
export function visibilityOf(css: string): Visibility {
  const clean = css.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/[^\n]*/g, "$1");
  const blocks = parse(clean);
  const isVisible = (zoom: number, fields: Fields) =>
    !blocks?.some(drawsAnything) || blocks.some((block) => draws(block, zoom, fields));
  return Object.assign(isVisible, { sort: orderOf(clean) });
}

const drawsAnything = (block: Block): boolean => block.draws || block.blocks.some(drawsAnything);

function draws(block: Block, zoom: number, fields: Fields): boolean {
  if (!block.selectors.some((test) => test(zoom, fields))) return false;
  return block.draws || block.blocks.some((inner) => draws(inner, zoom, fields));
}

/** The blocks of a style, or undefined when its braces do not match. */
function parse(css: string): Block[] | undefined {
  const root: Block = { selectors: [], blocks: [], draws: false };
  const open: Block[] = [root];
  let start = 0;
  let quote: string | undefined;
  for (let index = 0; index < css.length; index++) {
    const char = css[index]!;
    if (quote !== undefined) {
      if (char === quote) quote = undefined;
      continue;
    }
    if (char === '"' || char === "'") quote = char;
    if (char !== "{" && char !== "}" && char !== ";") continue;
    const text = css.slice(start, index).trim();
    start = index + 1;
    const within = open.at(-1)!;
    if (char === "{") {
      const block: Block = { selectors: selectorsOf(text), blocks: [], draws: false };
      within.blocks.push(block);
      open.push(block);
      continue;
    }
    if (symbols.test(text)) within.draws = true;
    if (char === "}" && open.length === 1) return undefined;
    if (char === "}") open.pop();
  }
  return open.length === 1 ? root.blocks : undefined;
}

/** One test per selector of `#a[zoom>=3][rank<=2], #b`. Ids, classes and attachments are assumed to match this layer. */
function selectorsOf(text: string): Test[] {
  return text.split(/,(?![^[]*\])/).map((selector) => {
    const tests = [...selector.matchAll(condition)].map((match) => compare(match[1]!, match[2]!, match[3]!));
    return (zoom, fields) => tests.every((test) => test(zoom, fields));
  });
}

function compare(name: string, operator: string, literal: string): Test {
  const isText = /^["']/.test(literal);
  const wanted = isText ? literal.slice(1, -1) : Number(literal);
  if (!isText && Number.isNaN(wanted)) return () => true; // true, false, null or a variable
  return (zoom, fields) => {
    if (name !== "zoom" && !Object.hasOwn(fields, name)) return true;
    const raw = name === "zoom" ? zoom : fields[name];
    if (raw === null || raw === undefined) return operator === "!=";
    const value = isText ? String(raw) : Number(raw);
    switch (operator) {
      case "=":
        return value === wanted;
      case "!=":
        return value !== wanted;
      case ">":
        return value > wanted;
      case ">=":
        return value >= wanted;
      case "<":
        return value < wanted;
      default:
        return value <= wanted;
    }
  };
}

/** Filters such as `[rank<=3]` sort ascending, such as `[area>=20000]` descending. */
function orderOf(css: string): string | undefined {
  for (const [, name, operator, literal] of css.matchAll(condition)) {
    if (name === "zoom" || Number.isNaN(Number(literal))) continue;
    if (operator!.startsWith("<")) return `${name},a`;
    if (operator!.startsWith(">")) return `${name},d`;
  }
  return undefined;
}
