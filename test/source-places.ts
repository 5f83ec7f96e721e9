import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";

/**
 * Names the places of the sources where a text names those of the build, as stacks do. With its own option for that, Node
 * reads a map for each module that it loads: a quarter of a second for each test file, for the few that fail.
 * @param root the project's folder
 */
export function withSourcePlaces(text: string, root: string): string {
  return text.replace(
    /\bdist\/([\w./-]+)\.js:(\d+):(\d+)/g,
    (built, name: string, line: string, column: string) => {
      try {
        const map = new SourceMap(JSON.parse(readFileSync(join(root, `dist/${name}.js.map`), "utf8")));
        const place = map.findEntry(Number(line) - 1, Number(column) - 1);
        return "originalLine" in place
          ? `${name}.ts:${place.originalLine + 1}:${place.originalColumn + 1}`
          : built;
      } catch {
        // It has no map.
        return built;
      }
    },
  );
}
