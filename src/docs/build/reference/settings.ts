import { ConfigError, configKeys, environmentName, loadConfig } from "../../../config.js";

/** The page of the settings: names and defaults from the configuration, meanings from here. */

const meanings: Readonly<Record<string, string>> = {
  databaseUrl:
    "The address of PostgreSQL, 15 or later with PostGIS; of a [replicated one](../operating/replicated-database.md) with all its servers, `postgresql://user:password@one:5432,two:5432/name`. If it is not set, `npm start` and `serve --local` start a private one. [A database elsewhere](../operating/database-elsewhere.md).",
  databaseDirectUrl:
    "The address of PostgreSQL itself where `databaseUrl` leads to a pooler that hands out sessions for a transaction each: [behind PgBouncer](../operating/database-elsewhere.md#behind-pgbouncer). Empty: `databaseUrl` is no pooler's.",
  redisUrl:
    "The address of Redis; also `rediss://` for an encrypted connection, `unix://` for a socket, `redis+sentinel://host:port,host:port/NAME` for the primary that Sentinel calls so, and `redis+cluster://host:port,host:port` for a cluster. If it is not set, `npm start` and `serve --local` start a private one. [Redis](../operating/redis.md).",
  tilesRedisUrl:
    "A second Redis for tiles and compiled styles, so that these never push sessions out of the other, with an address as of `redisUrl`. Empty: they are in that of `redisUrl`.",
  redisPrefix:
    "What the names of all keys in Redis begin with. Installations that share one Redis have different ones.",
  host: "The address to listen on. `0.0.0.0` is every IPv4 address of the machine; `127.0.0.1` lets only this machine in.",
  port: "The port to listen on. `0` takes a free one.",
  nodes:
    "How many server processes share the port on this machine: [several nodes](../operating/several-nodes.md).",
  baseUrl:
    "The public address, with a path if there is one, without a slash at its end: `https://maps.example.org/geo`. Addresses in answers begin with it. Without it they begin with what the request says, or a trusted proxy in `X-Forwarded-Host`.",
  trustedProxies:
    "Proxies whose `X-Forwarded-…` headers count: addresses or networks (`10.0.0.0/8`), with commas between. [Behind a proxy](../operating/behind-a-proxy.md#tell-mapwright-of-the-proxy).",
  idAlias: "Another name of `svc_id`, the id of an object, in requests and answers, such as `gid`.",
  externalHosts:
    "Servers whose images [external layers](../how-to/external-layers.md) may show: `host` or `host:port`, with commas between.",
  visualPlugins:
    "[Plug-ins for visualizations](api-visualizations.md#visualizations-by-plug-ins): names of those that come with the server, and paths of modules, with commas between.",
  "externalLayers.privateAddresses":
    "Whether these servers may have addresses of private networks, such as `10.0.0.5`.",
  "externalLayers.deadlineMs": "How long one image of another server is waited for, in milliseconds.",
  "externalLayers.imageBytes": "The largest image of another server that is taken.",
  "externalLayers.connections": "How many connections one node opens to one server at a time.",
  "externalLayers.memoryBytes": "How much memory images of other servers may take in one node.",
  "externalLayers.ageSeconds": "How long an image is shown, if its server does not say.",
  "externalLayers.maxAgeSeconds": "How long an image is shown at most, whatever its server says.",
  "externalLayers.retrySeconds":
    "How long a tile that lacks an image is kept, and after how long a server that failed is asked again.",
  "links.hosts":
    "Servers from which the console [gets files by a link](../how-to/import-files.md#from-a-link): `host` or `host:port`, with commas between; `*` is every server with a public address, empty is none.",
  "links.privateAddresses":
    "Whether these servers may have addresses of private networks, such as `10.0.0.5`.",
  "links.bytes": "The largest file that is fetched.",
  "links.deadlineMs": "How long fetching a file may take, in milliseconds.",
  logLevel:
    "What is logged: this level and all that are worse. `debug` adds requests that went well. [The log](../operating/systemd.md#the-log).",
  dataDir:
    "The folder for files that the server keeps, and for the private PostgreSQL and Redis. Nodes on several machines share its folder `files`, or have [`blobs`](#blobs). [What is in it](../operating/disk-use.md#where-the-bytes-are).",
  blobs:
    "Where attached files, pictures, fonts and images of raster layers lie: a bucket of an S3 store, with what all names in it begin with. Empty: the folder `files` in `dataDir`. [Files in an S3 store](../operating/several-nodes.md#files-in-an-s3-store).",
  blobCopyBytes:
    "How much disk copies of files from an S3 store may take in the folder `blob-copies` of `dataDir`, for each node. Those that were not used for longest go first.",
  databaseConnections:
    "How many connections to PostgreSQL one node has for requests. [What they are for](../operating/database-elsewhere.md#what-the-connections-are-for).",
  statementTimeoutMs: "How long a query of a request may take, in milliseconds.",
  publicTimeoutMs: "The same for requests without a token.",
  freshnessWhenCutOff:
    "What a node does that has lost the database, and cannot tell whether what it has cached is current. `refuse`: it answers 503. " +
    "`serve:60`: for 60 seconds it answers with what it has, which no cache keeps, and says in `X-Fresh-At` when that was current.",
  sessionIdleSeconds: "A session ends so long after its last use.",
  tileKeySeconds: "A [key for tiles](api-tile-keys.md) ends after this time at the latest.",
  "login.windowSeconds":
    "Failed logins are counted over this time: [failed logins](../operating/fair-shares.md#failed-logins).",
  "login.failuresPerLoginAndAddress":
    "After so many failures of one login from one address, further attempts of that login from there are refused.",
  "login.failuresPerAddress":
    "After so many failures from one address, it is refused. Logins that succeeded there before do not count.",
  "login.failuresPerLogin":
    "After so many failures of one login, it is refused. Addresses where it succeeded before do not count.",
  "login.concurrency": "How many passwords one node checks at once. Each takes a core for a moment.",
  "limits.tiles":
    "How many tiles a client may ask for in a minute, beyond those that the cache of addresses answers. `0`, here and below, is any number. [Limits of requests](../operating/fair-shares.md#limits-of-requests).",
  "limits.reads": "The same for single objects, layers and other short reads.",
  "limits.lists": "The same for lists of objects.",
  "limits.writes": "The same for changes.",
  "limits.transfers": "The same for imports and exports.",
  "limits.pictures": "The same for images and icons.",
  "external.keysDir":
    "The folder with the keys of other services, in a folder for each project. Empty: `keys` in `dataDir`. [Sign in by another service](../how-to/sign-in-by-another-service.md).",
  "external.claim": "The member (claim) of such a token that names the user.",
  "external.toleranceSeconds": "How far the clocks of the other service and of this machine may be apart.",
  maxBodyBytes:
    "The largest body with values or geometry of objects. Other operations take at most 2 MiB, each as much as `/openapi.json` says.",
  maxUploadBytes: "The largest file that can be uploaded, for an import or an object.",
  "receiving.memoryBytes":
    "How much memory bodies that are being received may take in one node, beyond the first 64 KiB of each. When it is full, the slowest is answered 503. Lists that are read before they are sent, for the edge to keep, may take a quarter as much besides.",
  "receiving.fileBytes":
    "How much disk uploads that are under way may take in one node. Beyond it they are answered 503.",
  "receiving.freeBytes":
    "How much must stay free on the disk of `dataDir`, or a tenth of a smaller disk. Uploads that would take it are answered 503.",
  "catalog.memoryBytes":
    "How much memory the structure of maps (layers, columns, styles, rights) may take in one node. Projects have a quarter of that besides.",
  "tiles.memoryBytes": "How much memory tiles may take in one node.",
  "tiles.addressBytes":
    "How much memory the cache of addresses may take in one node. It holds whole answers by the address as it was asked for: [the way of a tile](../explanation/way-of-a-tile.md).",
  "tiles.redrawHot":
    "Whether tiles that were asked for several times are drawn again after an edit by themselves, while the node has nothing else to draw.",
  "tiles.packHot":
    "Whether tiles that are asked for often are packed into fewer bytes, while the node has nothing else to draw.",
  "tiles.planBytes":
    "How much memory plans of tiles may take in one node: which layers, versions and styles a tile is drawn of.",
  "tiles.redisSeconds": "How long Redis keeps a tile. `0`: not at all, and `cache warm` cannot be used.",
  "tiles.cacheControl":
    "The header `Cache-Control` of public tiles and pictures. Leave it empty: then it is what `edge.kind` needs. With a `max-age` of your own browsers show old tiles.",
  "tiles.queueLength":
    "How many drawings may wait; one draws up to 4 × 4 tiles. Beyond it the answer is 503.",
  "tiles.deadlineMs":
    "How long a drawing may take, and how long it may wait for its turn or for statistics, in milliseconds.",
  "edge.kind":
    "The [cache in front](../operating/cdn.md) of the server: `hook` is one of your own, `none` is none that is told of changes.",
  "edge.urls": "The addresses of all instances of Varnish, with commas between, or the address of the hook.",
  "edge.service": "The id of the service at Fastly, or of the zone at Cloudflare.",
  "edge.token": "The token for Fastly, Cloudflare or the hook.",
  "edge.name": "A key that all public answers have. Installations that share a cache have different ones.",
  "edge.seconds": "How long the cache keeps what it is not told to drop.",
  "edge.repeatSeconds":
    "After this time Fastly, Cloudflare and a hook are told each change once more, for answers that were on their way to them.",
  "edge.wait":
    "With Varnish or a hook: whether the answer of an edit waits until the cache has dropped what the edit made old, for 250 ms at most.",
  "edge.perMinute": "How many requests in a minute your plan at Cloudflare allows.",
  "stop.drainSeconds":
    "After SIGTERM: how long `/health/ready` says 503 while the server answers as ever, so that load balancers send nothing more.",
  "stop.requestSeconds": "How long running requests then have to end, such as long exports.",
  "style.deadlineMs": "How long a style may take to be compiled, in milliseconds.",
  "render.concurrency": "How many drawings one node makes at once. Best the number of cores.",
  "render.mapBytes":
    "How much memory maps that are loaded for drawing may take in one node. It is an estimate.",
  "render.memoryBytes": "The process that draws is replaced when it has grown beyond this.",
  "bin.days":
    "For how many days deleted maps, folders, layers and columns can be restored. 0 = nothing is kept of them.",
  "history.days":
    "For how many days changes of objects, and of maps, folders, layers and columns, can be looked at and undone. 0 = none is kept.",
  "history.mostBytes":
    "How much the changes of a project's objects may take in the database, without indexes. Beyond it the oldest go first.",
  "transfer.jobsPerHost":
    "The processes that read imports and write exports are replaced after so many files.",
  "transfer.deadlineMs": "How long an import may take, and how long it may wait before, in milliseconds.",
  "transfer.memoryBytes": "The process that reads imports is replaced when it has grown beyond this.",
  "transfer.unpackedBytes":
    "How large all files of an uploaded archive may be together when they are unpacked.",
  "transfer.rasterBytes": "How large the pixels of an imported image may be when they are unpacked.",
  "exports.queueLength":
    "How many exports may wait for the process that writes their files, and how many exports of tiles for their turn. Beyond it they are answered `busy` (503).",
  "exports.deadlineMs":
    "How long the files of an export may take to be written, and how long it may wait before, in milliseconds.",
  "exports.memoryBytes": "The process that writes exports is replaced when it has grown beyond this.",
  "exports.fileBytes": "How large the files of one export may be.",
  "exports.totalBytes":
    "How much disk the files of all exports that are being written or sent may take. Beyond it they are answered `busy` (503).",
  "exports.tiles": "How many tiles one export of a map's tiles may have.",
  "images.memoryBytes": "How much memory resized pictures and icons may take in one node.",
  "images.diskBytes":
    "How much disk resized pictures may take in the folder `resized` of `dataDir`, for all nodes together. Those that were not used for longest go first. `0`: none are kept.",
  "images.hostBytes":
    "The process that makes pictures and documents is replaced when it has grown beyond this.",
  "images.deadlineMs":
    "How long a picture or document may take to be made, and how long it may wait before, in milliseconds.",
  metrics:
    "Whether there is a page [`/metrics`](../operating/health-and-metrics.md#metrics). It is for programs on this machine.",
  metricsToken:
    "With this token as `Authorization: Bearer …`, programs on other machines may read `/metrics`, too.",
};

const shortNames: Readonly<Record<string, string>> = { databaseUrl: "DATABASE_URL", redisUrl: "REDIS_URL" };

/** `tiles`, or "" of keys without a group. */
const groupOf = (key: string): string => (key.includes(".") ? key.slice(0, key.indexOf(".")) : "");

const groups: Readonly<Record<string, string>> = {
  "": "Addresses, database, sessions",
  externalLayers: "External layers",
  links: "Files by a link",
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

/** What the configuration says that it expects there; "" for sizes, which take units, and where any text is taken. */
function taken(key: string): string {
  if (/bytes$/i.test(key)) return "";
  try {
    loadConfig({ environment: {}, flags: { [key]: "\0" } });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const expected = /: expected (.*?)(, got .*)?$/.exec(error.problems[0] ?? "")?.[1];
    return expected ? `Takes ${expected}. ` : "";
  }
  return "";
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
        return `### ${key}\n\n${meanings[key]}\n\n${taken(key)}Variable \`${variable}\`, default ${written(key, settingOf(defaults, key))}.`;
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

What a setting takes is checked at the start. Sizes take units, as \`"256 MiB"\`; a number without a unit is bytes. A relative path is relative to the folder that the program is started in. Keys that there are
not, and variables that begin with \`MAPWRIGHT_\` and name none, are errors.

${parts.join("\n\n")}
`;
}
