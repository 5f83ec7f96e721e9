import { configKeys, environmentName, loadConfig } from "../../../config.js";

/** The page of the settings: names and defaults from the configuration, meanings from here. */

const meanings: Readonly<Record<string, string>> = {
  databaseUrl: "PostgreSQL 15 or later with PostGIS",
  redisUrl: "Redis; also `rediss://` and `unix://`",
  tilesRedisUrl: "Redis for tiles and compiled styles; that of `redisUrl` when empty",
  redisPrefix: "prefix of all keys, so that installations can share one Redis",
  host: "address to listen on",
  port: "port; 0 takes a free one",
  nodes: "node processes on this machine",
  baseUrl: "public address, with a path prefix if there is one",
  trustedProxies: "addresses of proxies whose `X-Forwarded-*` headers are trusted, comma-separated",
  idAlias: "another name of `svc_id` in requests and responses; a column code",
  externalHosts: "hosts (`host` or `host:port`) that external layers may name, comma-separated",
  visualPlugins:
    "plug-ins for visualizations: names of those that come with the server, and paths of modules, comma-separated",
  "externalLayers.privateAddresses": "whether these hosts may have addresses of private networks",
  "externalLayers.deadlineMs": "longest wait for one of their images",
  "externalLayers.imageBytes": "largest image",
  "externalLayers.connections": "connections of one node to one host",
  "externalLayers.memoryBytes": "images in the memory of one node",
  "externalLayers.ageSeconds": "how long an image is shown whose server does not say",
  "externalLayers.maxAgeSeconds": "how long an image is shown at most",
  "externalLayers.retrySeconds":
    "how long a tile holds that lacks an image, and after how long a failing host is asked again",
  logLevel: "`fatal` to `trace`, or `silent`",
  dataDir: "files that the server keeps; nodes on several machines share its folder `files` (attachments)",
  databaseConnections: "connections of one node, which are shared by purpose",
  statementTimeoutMs: "longest query",
  publicTimeoutMs: "longest query for those without a token",
  sessionIdleSeconds: "a session ends after this long without a request",
  tileKeySeconds: "a [key for tiles](api-tile-keys.md) ends after this long at the latest",
  "login.windowSeconds": "failed logins are counted over this time",
  "login.failuresPerLoginAndAddress": "failures of one login from one address; then its attempts are refused",
  "login.failuresPerAddress": "failures from one address, over all logins that never succeeded there",
  "login.failuresPerLogin": "failures of one login, over all addresses where it never succeeded",
  "login.concurrency": "passwords hashed at once in one node",
  "limits.tiles":
    "requests of a client in a minute for tiles that are not cached by their address; `0` = any number, here and below",
  "limits.reads": "single objects, layers and other short reads",
  "limits.lists": "lists of objects",
  "limits.writes": "changes",
  "limits.transfers": "imports and exports",
  "limits.pictures": "images and icons",
  "external.keysDir": "folder of the keys of external tokens; `keys` in `dataDir` when empty",
  "external.claim": "claim of an external token that names the user",
  "external.toleranceSeconds": "tolerated clock difference to issuers of tokens",
  maxBodyBytes:
    "largest body with values or geometry of objects; other operations take at most 2 MiB, each as much as `/openapi.json` says",
  maxUploadBytes: "largest file",
  "receiving.memoryBytes":
    "request bodies in the memory of one node, beyond the first 64 KiB of each; then the slowest is answered 503",
  "receiving.fileBytes": "uploaded files of one node on disk; beyond it 503",
  "receiving.freeBytes":
    "uploads are answered 503 when less would stay free on the disk of `dataDir`, or less than a tenth of a smaller one",
  "catalog.memoryBytes": "maps in the memory of one node; plus a quarter of it for projects",
  "tiles.memoryBytes": "tiles in the memory of one node",
  "tiles.addressBytes": "responses cached by raw URL, in one node",
  "tiles.redrawHot":
    "tiles that were asked for several times are drawn again after an edit while the node has nothing else to draw",
  "tiles.packHot":
    "tiles that are asked for often are packed more closely while the node has nothing else to draw",
  "tiles.planBytes": "render plans (layers, versions and styles of a tile) in the memory of one node",
  "tiles.redisSeconds": "how long Redis keeps a tile",
  "tiles.cacheControl": "`Cache-Control` of public tiles and pictures; empty: what `edge.kind` needs",
  "tiles.queueLength": "metatiles that may wait; beyond it 503",
  "tiles.deadlineMs": "longest render, and longest wait in the queue or for statistics",
  "edge.kind":
    "cache in front of the server: `none`, `nginx`, `varnish`, `fastly`, `cloudflare`, or `hook` for another one",
  "edge.urls": "addresses of Varnish, comma-separated, or of the hook",
  "edge.service": "id of the service at Fastly, or of the zone at Cloudflare",
  "edge.token": "token for Fastly, Cloudflare or the hook",
  "edge.name": "the key that all public answers have; installations that share an edge have different ones",
  "edge.seconds": "how long the edge keeps what it is not told to drop",
  "edge.repeatSeconds": "after which Fastly, Cloudflare and a hook are told again",
  "edge.perMinute": "requests that the plan of Cloudflare allows",
  "style.deadlineMs": "longest compilation of a style",
  "render.concurrency": "parallel renders in one node; best the number of cores",
  "render.mapBytes": "loaded maps that the render host of one node keeps, as estimated",
  "render.memoryBytes": "a render host that grows beyond it is replaced",
  "transfer.jobsPerHost": "files after which a transfer host is replaced",
  "transfer.deadlineMs": "longest import, and longest wait of an import in the queue",
  "transfer.memoryBytes": "a transfer host that grows beyond it is replaced",
  "transfer.unpackedBytes": "files of an uploaded archive, unpacked, in all",
  "transfer.rasterBytes": "pixels of an imported image, unpacked",
  "exports.queueLength": "exports that may wait for the export host; beyond it `busy`",
  "exports.deadlineMs": "longest writing of an export's files, and longest wait in the queue",
  "exports.memoryBytes": "an export host that grows beyond it is replaced",
  "exports.fileBytes": "size of the files of one export",
  "exports.totalBytes": "size of the files of all exports that are written or sent; beyond it `busy`",
  "exports.tiles": "tiles of one export of a map's tiles",
  "images.memoryBytes": "resized pictures and icons in the memory of one node",
  "images.diskBytes":
    "resized pictures in the folder `resized` of `dataDir`; those not used for longest go first; `0` = none",
  "images.hostBytes": "an image host that grows beyond it is replaced",
  "images.deadlineMs": "longest processing of a picture or document, and longest wait in the queue",
  metrics: "whether `/metrics` is served, to processes of this machine",
  metricsToken: "also to other machines, with `Authorization: Bearer` and this token",
};

const shortNames: Readonly<Record<string, string>> = { databaseUrl: "DATABASE_URL", redisUrl: "REDIS_URL" };

/** `tiles`, or "" of keys without a group. */
const groupOf = (key: string): string => (key.includes(".") ? key.slice(0, key.indexOf(".")) : "");

const groups: Readonly<Record<string, string>> = {
  "": "Addresses, database, sessions",
  externalLayers: "External layers",
  login: "Failed logins",
  limits: "Requests of a client in a minute",
  external: "Tokens of other issuers",
  receiving: "Bodies that are received",
  catalog: "The catalogue in memory",
  tiles: "Tiles",
  edge: "The cache in front",
  style: "Styles",
  render: "Drawing",
  transfer: "Imports",
  exports: "Exports",
  images: "Pictures and documents",
};

function settingOf(config: unknown, key: string): unknown {
  return key
    .split(".")
    .reduce<unknown>((value, part) => (value as Readonly<Record<string, unknown>>)[part], config);
}

/** As a person would write it: sizes in units, lists with commas. */
function written(key: string, value: unknown): string {
  if (key === "dataDir") return "`data`";
  if (Array.isArray(value)) return value.length === 0 ? "none" : `\`${value.join(",")}\``;
  if (value === "") return "none";
  if (typeof value === "number" && /bytes$/i.test(key) && value > 0)
    for (const [unit, size] of [
      ["GiB", 1024 ** 3],
      ["MiB", 1024 ** 2],
      ["KiB", 1024],
    ] as const)
      if (value % size === 0) return `\`${value / size} ${unit}\``;
  return `\`${String(value)}\``;
}

/** @throws Error naming keys without a meaning, and meanings without a key */
export function settingsPage(): string {
  const keys = configKeys();
  const missing = keys.filter((key) => !(key in meanings));
  const gone = Object.keys(meanings).filter((key) => !keys.includes(key));
  if (missing.length > 0 || gone.length > 0)
    throw new Error(
      `Settings without a meaning: ${missing.join(", ")}; meanings of none: ${gone.join(", ")}`,
    );
  const defaults = loadConfig({ environment: {} });
  const parts = [...new Set(keys.map(groupOf))].map((group) => {
    const rows = keys
      .filter((key) => groupOf(key) === group)
      .map((key) => {
        const variable = shortNames[key] ?? environmentName(key);
        return `### ${key}\n\n${meanings[key]}\n\nVariable \`${variable}\`, default ${written(key, settingOf(defaults, key))}.`;
      });
    return `## ${groups[group] ?? group}\n\n${rows.join("\n\n")}`;
  });
  return `# Settings

<!-- words: configuration, options, environment variables, config file, port, parameters -->

All settings, their variables in the environment, and their defaults. How settings are given, and which ones people set, is told
in [the first settings](../operating/first-settings.md).

Flags of the command override the environment, which overrides the file of \`MAPWRIGHT_CONFIG\` (or \`--config\`), which overrides
the defaults. In the file, keys with a dot are nested objects:

\`\`\`json
{ "port": 80, "tiles": { "queueLength": 64 } }
\`\`\`

Sizes take units, as \`"256 MiB"\`. A relative path is relative to the folder that the program is started in. Keys that there are
not, and variables that begin with \`MAPWRIGHT_\` and name none, are errors.

${parts.join("\n\n")}
`;
}
