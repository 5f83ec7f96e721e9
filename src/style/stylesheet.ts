import { StyleError } from "./lexer.js";

/** A stylesheet of CartoCSS whose shape was checked: blocks, selectors, declarations, and how much there is of each. */
export interface Stylesheet {
  /** The text without comments, each declaration closed with `;`, each string in the quotes that it needs least. */
  readonly parts: readonly Part[];
  readonly declarations: readonly Declaration[];
  /** Names, with `@`, to the tokens of their values. */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** The ids that its selectors name, without `#`. */
  readonly ids: ReadonlySet<string>;
  /** Whether it sets properties of the map. */
  readonly hasMap: boolean;
}

export interface Part {
  readonly role: "text" | "id" | "class" | "variable";
  readonly text: string;
}

export interface Declaration {
  readonly property: string;
  readonly line: number;
}

/** How a stylesheet is written down for the compiler. */
export interface Writing {
  /** Id that stands in place of an id selector. */
  readonly id: (id: string) => string;
  /** Class that stands in place of every class selector. */
  readonly className: string;
  /** What is left out keeps its line ends, so that the lines of the rest stay. Default: everything is written. */
  readonly only?: "variables" | "rules";
}

/** The stylesheet's text with its id and class selectors replaced. */
export function stylesheetText(sheet: Stylesheet, { id, className, only }: Writing): string {
  return sheet.parts
    .map(({ role, text }) => {
      if (only !== undefined && (role === "variable") !== (only === "variables"))
        return text.replace(/[^\n]+/g, "");
      return role === "id" ? `#${id(text)}` : role === "class" ? `.${className}` : text;
    })
    .join("");
}

/** Tokens that one variable may stand for when every use of another in it is replaced by its value. */
const mostExpanded = 20_000;

/**
 * Bounds what the variables of stylesheets stand for together: each use is replaced by the value, so few of them
 * can stand for very much, or for themselves.
 * @throws StyleError
 */
export function checkVariables(sheets: readonly Stylesheet[]): void {
  const values = new Map(sheets.flatMap((sheet) => [...sheet.variables]));
  const sizes = new Map<string, number>();
  const pending = new Set<string>();
  const size = (name: string): number => {
    const known = sizes.get(name);
    if (known !== undefined) return known;
    if (pending.has(name)) throw new StyleError(`The variable ${name} is defined by itself.`);
    pending.add(name);
    let sum = 0;
    for (const text of values.get(name) ?? []) sum += text.startsWith("@") ? size(text) : 1;
    pending.delete(name);
    if (sum > mostExpanded) throw new StyleError(`The variable ${name} stands for too much.`);
    sizes.set(name, sum);
    return sum;
  };
  for (const name of values.keys()) size(name);
}
