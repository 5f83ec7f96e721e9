import type { LoadHook } from "node:module";

/** Module loader hook: gives the mutated module in place of the file. */

let mutated = { url: "", code: "" };

export function initialize(given: { readonly url: string; readonly code: string }): void {
  mutated = given;
}

export const load: LoadHook = (url, context, next) =>
  url === mutated.url ? { format: "module", shortCircuit: true, source: mutated.code } : next(url, context);
