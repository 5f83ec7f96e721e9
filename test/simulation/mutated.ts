import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import type { Mutant } from "./mutants.js";

/**
 * Compiles the mutated file from its source in `src`. Not in the processes that play the worlds: loading the compiler takes
 * each longer than finding the mutant.
 */
export function mutatedModule({ file, replace, name }: Mutant): {
  readonly url: string;
  readonly code: string;
} {
  let text = readFileSync(fileURLToPath(new URL(`../../../src/${file}.ts`, import.meta.url)), "utf8");
  for (const [from, to] of replace) {
    if (text.split(from).length !== 2)
      throw new Error(
        `The pattern of "${name}" occurs ${text.split(from).length - 1} times, not once: ${from}`,
      );
    text = text.replace(from, () => to);
  }
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  });
  return { url: new URL(`../../src/${file}.js`, import.meta.url).href, code: outputText };
}
