/** The rules of a CartoCSS text with their places in it, so that single values can be changed and all else stays. */

/** From a place of the text to another. */
export interface Span {
  readonly start: number;
  readonly end: number;
}
export interface Declaration {
  readonly name: string;
  readonly value: string;
  /** Of the value. */
  readonly at: Span;
}
export interface Rule {
  /** Without comments and spaces around it. */
  readonly selector: string;
  /** Of the selector. */
  readonly at: Span;
  /** Between its braces. */
  readonly body: Span;
  readonly declarations: readonly Declaration[];
  readonly rules: readonly Rule[];
}

/** Addresses, comments and strings have no structure here. */
const opaque =
  /url\([^"')]*\)|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y;
const space = /(?:\s|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/|\/\/[^\n]*)*/y;

/** The rules of a style; undefined when it has something else, such as variables, or is not complete. */
export function rulesOf(css: string): readonly Rule[] | undefined {
  let at = 0;
  const skip = () => {
    space.lastIndex = at;
    space.exec(css);
    at = space.lastIndex;
  };
  /** To the sign that ends a selector or a declaration. */
  const next = (): string | undefined => {
    while (at < css.length) {
      const sign = css[at]!;
      if (sign === "{" || sign === "}" || sign === ";") return sign;
      opaque.lastIndex = at;
      at = opaque.test(css) ? opaque.lastIndex : at + 1;
    }
    return undefined;
  };
  const block = (isTop: boolean): Pick<Rule, "declarations" | "rules"> | undefined => {
    const declarations: Declaration[] = [];
    const rules: Rule[] = [];
    for (;;) {
      skip();
      if (at >= css.length) return isTop ? { declarations, rules } : undefined;
      if (css[at] === "}") return isTop ? undefined : { declarations, rules };
      if (css[at] === "@") return undefined;
      const start = at;
      const sign = next();
      const text = css.slice(start, at);
      const end = start + text.trimEnd().length;
      if (sign === "{") {
        at += 1;
        const from = at;
        const named = withoutComments(css, start, end);
        const inner = block(false);
        if (!inner) return undefined;
        rules.push({
          selector: css.slice(named.start, named.end),
          at: named,
          body: { start: from, end: at },
          ...inner,
        });
        at += 1;
        continue;
      }
      const found = /^([\w/-]+)\s*:\s*/.exec(text);
      if (!found || sign === undefined || isTop) return undefined;
      const valueAt = start + found[0].length;
      const span = withoutComments(css, valueAt, end);
      declarations.push({ name: found[1]!, value: css.slice(span.start, span.end), at: span });
      if (sign === ";") at += 1;
    }
  };
  return block(true)?.rules;
}

/** Of a value without the comments and spaces before and behind it. */
function withoutComments(css: string, from: number, to: number): Span {
  space.lastIndex = from;
  space.exec(css);
  const start = Math.min(space.lastIndex, to);
  let end = start;
  for (let at = start; at < to; ) {
    opaque.lastIndex = at;
    const isOpaque = opaque.test(css);
    const isComment = isOpaque && css[at] === "/";
    const next = isOpaque ? Math.min(opaque.lastIndex, to) : at + 1;
    if (!isComment && (isOpaque || /\S/.test(css[at]!))) end = next;
    at = next;
  }
  return { start, end };
}

/** A change of a text: what stands at a place is replaced. */
export interface Replacement extends Span {
  readonly by: string;
}

export function replaced(text: string, replacements: readonly Replacement[]): string {
  let result = text;
  for (const { start, end, by } of [...replacements].sort((one, other) => other.start - one.start))
    result = result.slice(0, start) + by + result.slice(end);
  return result;
}
