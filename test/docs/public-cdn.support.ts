import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Route } from "playwright-core";

/** What pages have from a public CDN comes from the packages that are here. */

const modules = join(dirname(fileURLToPath(import.meta.url)), "../../../node_modules");
const types: Readonly<Record<string, string>> = {
  js: "text/javascript",
  mjs: "text/javascript",
  css: "text/css",
  png: "image/png",
};

export const publicCdn = "unpkg.com";

/** Answers a request to the CDN. */
export function answerFromPackages(route: Route): Promise<void> {
  const { pathname } = new URL(route.request().url());
  const [, name = "", path = ""] = /^\/((?:@[\w-]+\/)?[\w-]+)@[\d.]+\/(.+)$/.exec(pathname) ?? [];
  const contentType = types[path.replace(/^.*\./, "")] ?? "application/octet-stream";
  return route.fulfill({ contentType, body: readFileSync(join(modules, name, path)) });
}
