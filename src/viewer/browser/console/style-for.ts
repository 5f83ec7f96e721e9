import { replaced, rulesOf } from "./carto-rules.js";

/** Of a style that names its layer: names another one in its place. What is drawn is the same. */
export function styleFor(css: string, from: string, to: string): string {
  const name = `#${from}`;
  const named = (rulesOf(css) ?? []).filter(
    ({ selector }) => selector.startsWith(name) && !/[\w-]/.test(selector.charAt(name.length)),
  );
  return replaced(
    css,
    named.map(({ at: { start } }) => ({ start, end: start + name.length, by: `#${to}` })),
  );
}
