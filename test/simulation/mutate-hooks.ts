import { readFileSync } from "node:fs";
import type { LoadHook } from "node:module";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { mutants } from "./mutants.js";

/** Module loader hook: compiles the mutated file from its source in `src`. */

let wanted = "";
let code = "";

export function initialize({ number }: { number: number }): void {
  const { file, replace, name } = mutants[number]!;
  let text = readFileSync(fileURLToPath(new URL(`../../../src/${file}.ts`, import.meta.url)), "utf8");
  for (const [from, to] of replace) {
    if (text.split(from).length !== 2)
      throw new Error(
        `The pattern of "${name}" occurs ${text.split(from).length - 1} times, not once: ${from}`,
      );
    text = text.replace(from, () => to);
  }
  wanted = new URL(`../../src/${file}.js`, import.meta.url).href;
  code = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  }).outputText;
}

export const load: LoadHook = (url, context, next) =>
  url === wanted ? { format: "module", shortCircuit: true, source: code } : next(url, context);
