import { readFileSync } from "node:fs";

/** The version in the nearest package.json above this file. */
export function programVersion(): string {
  let folder = new URL("./", import.meta.url);
  for (;;) {
    try {
      return (JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as { version: string })
        .version;
    } catch {
      const above = new URL("../", folder);
      if (above.href === folder.href) return "unknown";
      folder = above;
    }
  }
}
