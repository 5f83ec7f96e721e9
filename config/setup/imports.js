import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

/**
 * `node imports.js [folder of the project]`: imports go one way, between folders and between files. Prints each import
 * that does not, with its line, and each circle of files, and ends with status 1 when there is one.
 */

/**
 * From the ground up: a part imports itself and parts of the lines above it, never its neighbours on the same
 * line. A part is a folder, a file, or files of a folder that stand lower than the rest of it; the longest name
 * that fits a file counts.
 */
const order = [
  [
    "src/geo",
    "src/all-or-none",
    "src/blob-address",
    "src/clock",
    "src/counted",
    "src/database-hosts",
    "src/either-signal",
    "src/in-time",
    "src/make-folder",
    "src/loop-delay",
    "src/latin",
    "src/near-name",
    "src/object-numbers",
    "src/once",
    "src/program-name",
    "src/redis-url",
    "src/remove-quietly",
    "src/version",
  ],
  ["src/errors", "src/config", "src/log", "src/metrics", "src/wrong-value"],
  ["src/column-types", "src/json", "src/ignored-members"],
  // Data types that the parts hand to each other.
  ["src/style/model", "src/catalog/state"],
  ["src/catalog/codes", "src/catalog/layer-table", "src/catalog/localized-value", "src/catalog/plain-value"],
  [
    "src/hosts/import-messages",
    "src/hosts/export-messages",
    "src/storage/blob-store",
    "src/storage/partial-cursor",
    "src/storage/session-settings",
    "src/storage/transaction-settings",
    "src/storage/whole-file",
  ],
  ["src/hosts/messages", "src/queues"],
  ["src/storage", "src/hosts"],
  ["src/changes"],
  ["src/cdn"],
  ["src/style"],
  ["src/visual"],
  ["src/catalog"],
  ["src/access"],
  ["src/external"],
  ["src/features", "src/tiles"],
  ["src/identify", "src/print", "src/search", "src/import", "src/export", "src/viewer", "src/http"],
  // The pages and their site; what builds them knows all that they tell of.
  ["src/docs"],
  ["src/transfer-leftovers", "src/backup", "src/doctor"],
  ["src/api/services"],
  ["src/api/request"],
  ["src/api/resources"],
  ["src/api", "src/demo"],
  ["src/tile-path"],
  ["src/node"],
  ["src/node-process"],
  ["src/local-services"],
  ["src/serve"],
  ["src/commands"],
  ["src/main"],
  ["src/docs/build"],
];

/** What may be imported from these places only. */
const reserved = [
  { what: "src/http", by: ["src/http", "src/api", "src/node", "src/serve", "src/main"] },
  // Nodes and hosts know addresses only; whoever starts them knows whether the services are private.
  { what: "src/local-services", by: ["src/local-services", "src/serve", "src/commands"] },
  { what: "uWebSockets.js", by: ["src/http"] },
  { what: "mapnik", by: ["workers"] },
  { what: "gdal-async", by: ["workers"] },
  // The build measures pictures for its pages; nothing that serves imports it.
  { what: "sharp", by: ["workers", "src/docs/build"] },
  { what: "node-sqlite3-wasm", by: ["workers"] },
];

/** Places that stand apart, with all that they may import of the project. */
const apart = [
  {
    place: "workers",
    may: [
      "workers",
      "src/all-or-none",
      "src/counted",
      "src/database-hosts",
      "src/hosts/messages",
      "src/hosts/import-messages",
      "src/hosts/export-messages",
      "src/hosts/tile-index",
      "src/storage/connection-errors",
      "src/storage/host-connection",
      "src/storage/partial-cursor",
      "src/storage/primary",
      "src/storage/session-settings",
      "src/style",
      "src/features/object-body",
      "src/geo",
      "src/errors",
      "src/json",
      "src/log",
    ],
  },
  {
    place: "src/viewer/browser",
    may: [
      "src/viewer/browser",
      "src/features/value-format",
      "src/latin",
      "src/style/default-style",
      // The editor of styles knows what the server takes.
      "src/style/allowed",
      "src/style/fonts",
      "src/style/lexer",
      "src/style/source",
      "src/geo/geometry-kind",
      "src/visual/class-colours",
      "src/visual/color-brewer",
    ],
  },
  // The viewer loads nothing of the console, which is made of the viewer's parts.
  { place: "src/docs/browser", may: ["src/docs/browser", "src/docs/search"] },
];

/** Whether `path` (no extension) is `place` or lies in it. */
const within = (path, place) => path === place || path.startsWith(`${place}/`);

const ranks = order
  .flatMap((parts, rank) => parts.map((part) => ({ part, rank })))
  .sort((one, other) => other.part.length - one.part.length);

const standing = (path) => ranks.find(({ part }) => within(path, part));

/** Why `from` must not import `target` (project paths without extension, or a package's name); undefined if it may. */
function objection(from, target, isPackage) {
  const limit = reserved.find(({ what }) => within(target, what));
  if (limit && !limit.by.some((place) => within(from, place)))
    return `only ${limit.by.join(", ")} may use ${limit.what}`;
  if (isPackage) return undefined;
  const island = apart.find(({ place }) => within(from, place));
  if (island) {
    if (island.may.some((place) => within(target, place))) return undefined;
    return `${island.place} may import ${island.may.join(", ")} only`;
  }
  const closed = apart.find(({ place }) => within(target, place));
  if (closed) return `the server does not import ${closed.place}; it runs elsewhere`;
  if (!within(target, "src")) return "src imports nothing outside src";
  const [own, other] = [standing(from), standing(target)];
  if (!own) return `${from} has no place in the order of config/setup/imports.js`;
  if (!other) return `${target} has no place in the order of config/setup/imports.js`;
  // A folder's lower files may be used by the rest of it, and its rest by nobody lower.
  if (own.part === other.part || other.rank < own.rank) return undefined;
  return other.rank === own.rank
    ? `${own.part} and ${other.part} stand side by side; what both need belongs below them`
    : `${other.part} stands above ${own.part}`;
}

function* typescriptFiles(root, folder) {
  if (!existsSync(join(root, folder))) return;
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* typescriptFiles(root, path);
    else if (path.endsWith(".ts")) yield path;
  }
}

const withoutExtension = (path) => path.replace(/(\.d)?\.[jt]s$/, "");

/** The imports of a file: what is written, its line, and the file (project path without extension) or package. */
function importsOf(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  return ts
    .preProcessFile(text)
    .importedFiles.filter(({ fileName }) => !fileName.startsWith("node:"))
    .map(({ fileName, pos }) => {
      const isPackage = !fileName.startsWith(".");
      const target = isPackage ? fileName : withoutExtension(normalize(join(dirname(path), fileName)));
      return { fileName, line: text.slice(0, pos).split("\n").length, target, isPackage };
    });
}

const problemsOf = (path, imports) =>
  imports.flatMap(({ fileName, line, target, isPackage }) => {
    const reason = objection(withoutExtension(path), target, isPackage);
    return reason ? [`${path}:${line} imports ${fileName}: ${reason}.`] : [];
  });

/** Circles of files, each once, as the paths that lead around. */
function circlesOf(graph) {
  const circles = [];
  const done = new Set();
  const way = [];
  const visit = (file) => {
    if (done.has(file)) return;
    const begun = way.indexOf(file);
    if (begun >= 0) {
      circles.push([...way.slice(begun), file]);
      return;
    }
    way.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    way.pop();
    done.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return circles;
}

const root = process.argv[2] ?? ".";
const files = ["src", "workers"].flatMap((folder) => [...typescriptFiles(root, folder)]);
const imports = new Map(files.map((path) => [path, importsOf(root, path)]));
const graph = new Map(
  [...imports].map(([path, list]) => [
    withoutExtension(path),
    list.filter(({ isPackage }) => !isPackage).map(({ target }) => target),
  ]),
);
const problems = [
  ...[...imports].flatMap(([path, list]) => problemsOf(path, list)),
  ...circlesOf(graph).map((circle) => `${circle.join(" imports ")}: a circle.`),
];
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`\n${problems.length} imports go the wrong way; config/setup/imports.js has the order.`);
  process.exitCode = 1;
}
