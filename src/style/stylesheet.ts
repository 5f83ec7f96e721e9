import { StyleError } from "./lexer.js";

/** A CartoCSS stylesheet whose syntax and size were checked. */
export interface Stylesheet {
  /** The text without comments, each declaration closed with `;`, each string in quotes that need no escapes if possible. */
  readonly parts: readonly Part[];
  readonly declarations: readonly Declaration[];
  /** Tokens of the values by variable name (with `@`). */
  readonly variables: ReadonlyMap<string, readonly string[]>;
  /** The ids that its selectors name, without `#`. */
  readonly ids: ReadonlySet<string>;
  /** Whether it has a `Map` selector. */
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

/** How a stylesheet is written for the compiler. */
export interface StylesheetTextOptions {
  /** Replaces an id selector. */
  readonly id: (id: string) => string;
  /** Replaces every class selector. */
  readonly className: string;
  /** Which part is written. Of the rest the line ends remain, so that line numbers stay. Default: everything. */
  readonly only?: "variables" | "rules";
}

/** The stylesheet's text with its id and class selectors replaced. */
export function stylesheetText(sheet: Stylesheet, { id, className, only }: StylesheetTextOptions): string {
  return sheet.parts
    .map(({ role, text }) => {
      if (only !== undefined && (role === "variable") !== (only === "variables"))
        return text.replace(/[^\n]+/g, "");
      return role === "id" ? `#${id(text)}` : role === "class" ? `.${className}` : text;
    })
    .join("");
}

/** Tokens of one variable after other variables in it are replaced by their values. */
const maxExpandedTokens = 20_000;

/**
 * Bounds the length of variables after expansion. A few variables that use each other could expand to gigabytes, or
 * refer to themselves.
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
    if (sum > maxExpandedTokens) throw new StyleError(`The variable ${name} stands for too much.`);
    sizes.set(name, sum);
    return sum;
  };
  for (const name of values.keys()) size(name);
}
