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

/** The version, and the commit that the program was built of, where it was built in a checkout. */
export function programBuild(): string {
  const commit = builtFrom();
  return commit === "" ? programVersion() : `${programVersion()} (${commit})`;
}

/** What the build has noted. */
function builtFrom(): string {
  try {
    return readFileSync(new URL("../commit", import.meta.url), "utf8");
  } catch {
    return "";
  }
}
