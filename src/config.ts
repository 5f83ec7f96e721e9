import { accessSync, constants, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";
import { problemOfBlobAddress, problemOfEndpoint } from "./blob-address.js";
import { parametersOf, problemOf } from "./database-hosts.js";
import { didYouMean } from "./near-name.js";
import { parseRedisUrl } from "./redis-url.js";

/**
 * The configuration: one schema. Flags override the environment, which overrides the file, which overrides the defaults.
 * This is the only module that reads `process.env`.
 */

// Messages complete the sentence "expected …".
const size = 'a size such as "256 MB" or a number of bytes';
const bytes = z.union([z.number(), z.string()], size).transform((value, context) => {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|kb|mb|gb|kib|mib|gib)?\s*$/i.exec(String(value));
  if (!match) {
    context.addIssue({ code: "custom", message: size });
    return z.NEVER;
  }
  const unit = (match[2] ?? "b").toLowerCase();
  const factor = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 }[unit] ?? 1;
  return Math.round(Number(match[1]) * factor);
});

const flag = z.union([z.boolean(), z.stringbool()], "true or false");
const count = (least: number, most: number) => {
  const what = `a number from ${least} to ${most}`;
  return z.coerce.number(what).int(what).min(least, what).max(most, what);
};
const text = z.string("a text");
/** Absolute: processes and libraries each have their own idea of what a relative path is relative to. "" stays. */
const folder = text.transform((given) => (given === "" ? "" : resolve(given)));
/** The files that an address of PostgreSQL names for TLS: a client that connects says of one that is missing only its path. */
function requireFilesOfTls(url: string, context: z.RefinementCtx): void {
  const parameters = parametersOf(url);
  for (const name of ["sslrootcert", "sslcert", "sslkey"]) {
    const file = parameters.get(name);
    if (!file) continue;
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      context.addIssue({
        code: "custom",
        message: `${name} to name a file that can be read: ${(error as Error).message}`,
      });
    }
  }
}
const list = z.union(
  [z.array(z.string()), z.string().transform((given) => given.split(",").filter(Boolean))],
  "a list of texts",
);

/** Keys that objects and search results have beside `svc_id`; an alias must be none of them. */
const reservedAliases: ReadonlySet<string> = new Set([
  "svc_id",
  "geom",
  "__proto__",
  "name",
  "type",
  "layer",
  "priority",
  "value",
  "name_column",
  "search_column",
  "layer_name",
  "layer_icon",
]);

/** What else must be set, by the kind of the CDN. */
const neededOfCdn: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  varnish: { urls: "the addresses of Varnish, such as http://127.0.0.1:6081" },
  fastly: { service: "the id of the service at Fastly", token: "a token of Fastly that may purge" },
  cloudflare: { service: "the id of the zone at Cloudflare", token: "a token of Cloudflare that may purge" },
  hook: { urls: "the address that is told what to drop" },
};

const addressesOfRedis =
  "an address such as redis://127.0.0.1:6379/0, unix:///run/redis.sock, redis+sentinel://host:26379,host:26379/NAME or " +
  "redis+cluster://host:6379,host:6379";

export const configSchema = z.strictObject({
  databaseUrl: text
    .superRefine((url, context) => {
      const message = problemOf(url);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    })
    .superRefine(requireFilesOfTls)
    .default("postgresql:///mapwright"),
  /** The address past a pooler that `databaseUrl` leads to; "" = that is PostgreSQL itself. */
  databaseDirectUrl: text
    .superRefine((url, context) => {
      const message = url === "" ? undefined : problemOf(url);
      if (message !== undefined) context.addIssue({ code: "custom", message: `${message}; or nothing` });
    })
    .superRefine(requireFilesOfTls)
    .default(""),
  redisUrl: text
    .refine((url) => parseRedisUrl(url) !== undefined, addressesOfRedis)
    .default("redis://127.0.0.1:6379/0"),
  /** Redis for tiles, so that these never push sessions out of the other; "" = they share one. */
  tilesRedisUrl: text
    .refine((url) => url === "" || parseRedisUrl(url) !== undefined, `${addressesOfRedis}; or nothing`)
    .default(""),
  /** Prefix of all keys in Redis, so that installations can share one. */
  redisPrefix: text.max(64, "at most 64 characters").default("mw:"),
  host: text.default("0.0.0.0"),
  port: count(0, 65535).default(8080),
  nodes: count(1, 256).default(1),
  /** Public address with an optional path prefix, without a slash at its end: https://maps.example.org/geo */
  baseUrl: text
    .regex(
      /^(https?:\/\/[^/?#]+)?(\/[^?#]*[^/?#])?$/,
      "an address or path without a slash at its end, such as https://maps.example.org/geo",
    )
    .default(""),
  /** Addresses of proxies whose X-Forwarded-* headers are trusted. */
  trustedProxies: list.default([]),
  /** Another name of svc_id in answers and inputs; "" = none. */
  idAlias: text
    .regex(/^([A-Za-z_][A-Za-z0-9_]{0,43})?$/, "a column code: Latin letters, digits and _, no digit first")
    .refine((alias) => !reservedAliases.has(alias), "a name that answers do not use for something else")
    .default(""),
  /** Hosts (`host` or `host:port`) that external layers may name. */
  externalHosts: list.default([]),
  /** Plug-ins for visualizations: names of those that come with the server, and paths of modules. */
  visualPlugins: list
    .transform((entries) => entries.map((entry) => (entry.includes("/") ? resolve(entry) : entry)))
    .default(["arrows"]),
  externalLayers: z
    .strictObject({
      /** Whether these hosts may have addresses of private networks. */
      privateAddresses: flag.default(false),
      /** For one image of a service. */
      deadlineMs: count(100, 60_000).default(5_000),
      /** Largest image of a service. */
      imageBytes: bytes.default(16 * 1024 ** 2),
      /** Connections to one host. */
      connections: count(1, 256).default(8),
      /** Images kept in the memory of one node. */
      memoryBytes: bytes.default(64 * 1024 ** 2),
      /** How long an image is shown of which the service does not say, and at most. */
      ageSeconds: count(60, 31_536_000).default(3_600),
      maxAgeSeconds: count(60, 31_536_000).default(86_400),
      /** How long a tile is shown that lacks an image, and after how long a host that fails is asked again. */
      retrySeconds: count(1, 86_400).default(30),
    })
    .prefault({}),
  logLevel: z
    .enum(
      ["fatal", "error", "warn", "info", "debug", "trace", "silent"],
      "one of fatal, error, warn, info, debug, trace and silent",
    )
    .default("info"),
  /** Folder for attachments, keys, temporary files and the private services. */
  dataDir: folder.refine((given) => given !== "", "a folder").prefault("data"),
  /** Where the bytes of files lie: `s3://bucket/prefix`, or "" = the folder `files` in `dataDir`. */
  blobs: text
    .superRefine((given, context) => {
      const problem = given === "" ? undefined : problemOfBlobAddress(given);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .default(""),
  /** Copies on the disk of a node of files that lie elsewhere. */
  blobCopyBytes: bytes.default(4 * 1024 ** 3),
  /** So many that one client alone finds as many as it can use, beside those that are kept from it. */
  databaseConnections: count(2, 200).default(16),
  statementTimeoutMs: count(100, 3_600_000).default(30_000),
  /** Longest statement that reads for the public. */
  publicTimeoutMs: count(100, 3_600_000).default(10_000),
  /** What a node answers that cannot tell whether what it has is current. */
  freshnessWhenCutOff: text
    .regex(/^(refuse|serve:[1-9]\d{0,5})$/, "refuse, or serve:60 for 60 seconds")
    .default("refuse"),
  sessionIdleSeconds: count(1, 86_400).default(600),
  /** Longest life of a key for tiles. */
  tileKeySeconds: count(1, 604_800).default(43_200),
  login: z
    .strictObject({
      /** Failed logins are counted over this time. */
      windowSeconds: count(1, 86_400).default(300),
      failuresPerLoginAndAddress: count(1, 1_000_000).default(10),
      failuresPerAddress: count(1, 1_000_000).default(100),
      failuresPerLogin: count(1, 1_000_000).default(1_000),
      /** Passwords hashed at once in one node. */
      concurrency: count(1, 64).default(2),
    })
    .prefault({}),
  /** Requests that a client (an account, or the network of who is not signed in) may send in a minute; 0 = any number. */
  limits: z
    .strictObject({
      /** Those that no cache of addresses answers. */
      tiles: count(0, 10_000_000).default(0),
      reads: count(0, 10_000_000).default(0),
      lists: count(0, 10_000_000).default(0),
      writes: count(0, 10_000_000).default(0),
      /** Imports and exports. */
      transfers: count(0, 10_000_000).default(0),
      /** Images and icons. */
      pictures: count(0, 10_000_000).default(0),
    })
    .prefault({}),
  external: z
    .strictObject({
      /** Folder with a subfolder of keys for each project; "" = `keys` in `dataDir`. */
      keysDir: folder.default(""),
      /** The claim of an external token that names the user. */
      claim: text.min(1, "the name of a claim").default("sub"),
      /** Tolerated difference between the clocks of issuers and ours. */
      toleranceSeconds: count(0, 600).default(30),
    })
    .prefault({}),
  /** Files that editors have links to, which the console imports. */
  links: z
    .strictObject({
      /** Hosts (`host` or `host:port`) from which they are fetched; `*` = all. */
      hosts: list.default(["*"]),
      /** Whether these hosts may have addresses of private networks. */
      privateAddresses: flag.default(false),
      /** Largest file. */
      bytes: bytes.default(256 * 1024 ** 2),
      /** For a file, to its end. */
      deadlineMs: count(1_000, 3_600_000).default(120_000),
    })
    .prefault({}),
  maxBodyBytes: bytes.default(16 * 1024 ** 2),
  maxUploadBytes: bytes.default(1024 ** 3),
  /** What one node receives at a time. */
  receiving: z
    .strictObject({
      /** Bodies in memory, beyond the first 64 KiB of each. */
      memoryBytes: bytes.default(256 * 1024 ** 2),
      /** Uploaded files on disk. */
      fileBytes: bytes.default(16 * 1024 ** 3),
      /** Files are refused when less would stay free on their disk, or less than a tenth of a smaller one. */
      freeBytes: bytes.default(2 * 1024 ** 3),
    })
    .prefault({}),
  catalog: z
    .strictObject({
      /** Maps and projects kept in the memory of one node. */
      memoryBytes: bytes.default(256 * 1024 ** 2),
    })
    .prefault({}),
  tiles: z
    .strictObject({
      /** Rendered tiles kept in the memory of one node. */
      memoryBytes: bytes.default(256 * 1024 ** 2),
      /** Raw addresses kept in the memory of one node. */
      addressBytes: bytes.default(64 * 1024 ** 2),
      /** Whether tiles that were asked for several times are drawn again by themselves when they are outdated. */
      redrawHot: flag.default(true),
      /** Whether tiles that are asked for often are packed more closely. */
      packHot: flag.default(true),
      /** Plans (what is drawn, and how) kept in the memory of one node. */
      planBytes: bytes.default(64 * 1024 ** 2),
      redisSeconds: count(0, 31_536_000).default(604_800),
      /** "" = as the CDN needs it. */
      cacheControl: text.regex(/^[\x20-\x7e]*$/, "printable ASCII").default(""),
      /** Metatiles that may wait for the render host; beyond it tiles are answered 503. */
      queueLength: count(1, 100_000).default(256),
      /** A render that takes longer is ended with its host. */
      deadlineMs: count(100, 600_000).default(30_000),
    })
    .prefault({}),
  /** The cache in front of the server, which is told what has changed. */
  edge: z
    .strictObject({
      kind: z
        .enum(
          ["none", "nginx", "varnish", "fastly", "cloudflare", "hook"],
          "none, nginx, varnish, fastly, cloudflare or hook",
        )
        .default("none"),
      /** Varnish: each of its instances. A hook: its address. Fastly and Cloudflare: another address of their API. */
      urls: list
        .refine(
          (urls) => urls.every((url) => /^https?:\/\/[^/]/.test(url)),
          "addresses such as http://127.0.0.1:6081",
        )
        .default([]),
      /** The service of Fastly, or the zone of Cloudflare. */
      service: text.regex(/^[A-Za-z0-9]*$/, "letters and digits").default(""),
      token: text.regex(/^[\x21-\x7e]*$/, "printable ASCII characters without spaces").default(""),
      /** The key that all public answers have. Installations that share a CDN have different ones. */
      name: text
        .regex(/^[A-Za-z0-9_-]{1,40}$/, "up to 40 letters, digits, hyphens and underscores")
        .default("mapwright"),
      /** How long the CDN keeps what it is not told to drop. */
      seconds: count(1, 31_536_000).default(86_400),
      /** Varnish is told at once. Others are told again after this time, for answers that were on their way. */
      repeatSeconds: count(0, 600).default(5),
      /** Varnish and a hook: whether the answer of an edit waits until they have dropped what it made old, for at most 250 ms. */
      wait: flag.default(true),
      /** Requests that the plan of Cloudflare allows. */
      perMinute: count(1, 100_000).default(5),
    })
    .superRefine(({ kind, ...edge }, context) => {
      for (const [key, needed] of Object.entries(neededOfCdn[kind] ?? {})) {
        if (edge[key as keyof typeof edge].toString() === "")
          context.addIssue({ code: "custom", path: [key], message: `${needed}, as edge.kind is ${kind}` });
      }
    })
    .prefault({}),
  stop: z
    .strictObject({
      /** After SIGTERM: how long a server says that it is not ready, and answers all the same. */
      drainSeconds: count(0, 600).default(0),
      /** How long running requests then have to end. */
      requestSeconds: count(0, 3_600).default(10),
    })
    .prefault({}),
  style: z.strictObject({ deadlineMs: count(100, 60_000).default(10_000) }).prefault({}),
  render: z
    .strictObject({
      /** Mapnik renders at once in one node. */
      concurrency: count(1, 64).default(2),
      /** Loaded maps kept by Mapnik in one node, as estimated. */
      mapBytes: bytes.default(512 * 1024 ** 2),
      memoryBytes: bytes.default(3 * 1024 ** 3),
    })
    .prefault({}),
  bin: z
    .strictObject({
      /** How long what is deleted can be restored; 0 = not at all. */
      days: count(0, 3650).default(30),
    })
    .prefault({}),
  history: z
    .strictObject({
      /** How long changes of objects can be undone; 0 = not at all. */
      days: count(0, 3650).default(30),
      /** Of a project, without indexes: beyond it the oldest changes go first. */
      mostBytes: bytes.default(1024 ** 3),
    })
    .prefault({}),
  transfer: z
    .strictObject({
      /** Jobs that one transfer host does before it is replaced. */
      jobsPerHost: count(1, 10_000).default(50),
      deadlineMs: count(1_000, 86_400_000).default(3_600_000),
      memoryBytes: bytes.default(2 * 1024 ** 3),
      /** Files in an uploaded archive, unpacked, in all. */
      unpackedBytes: bytes.default(4 * 1024 ** 3),
      /** Pixels of an uploaded image, unpacked. */
      rasterBytes: bytes.default(16 * 1024 ** 3),
    })
    .prefault({}),
  exports: z
    .strictObject({
      /** Exports that may wait for the processes that write files, and exports of tiles for their turn; beyond it they are answered busy. */
      queueLength: count(0, 10_000).default(16),
      /** An export that takes longer to write is ended. */
      deadlineMs: count(1_000, 86_400_000).default(1_800_000),
      memoryBytes: bytes.default(1024 ** 3),
      /** Largest size of the files of one export, and of all that one node holds at a time. */
      fileBytes: bytes.default(4 * 1024 ** 3),
      totalBytes: bytes.default(16 * 1024 ** 3),
      /** Tiles of one export of a map's tiles. */
      tiles: count(1, 10_000_000).default(250_000),
    })
    .prefault({}),
  images: z
    .strictObject({
      /** Resized pictures and icons kept in the memory of one node. */
      memoryBytes: bytes.default(64 * 1024 ** 2),
      /** Resized pictures kept on disk, for all nodes together; 0 = none. */
      diskBytes: bytes.default(1024 ** 3),
      /** Memory of the process that makes them; one that holds more is replaced. */
      hostBytes: bytes.default(1024 ** 3),
      deadlineMs: count(100, 600_000).default(20_000),
    })
    .prefault({}),
  /** Whether there is `/metrics`; from other machines only with the token. */
  metrics: flag.default(true),
  metricsToken: text
    .regex(/^([\x21-\x7e]{16,})?$/, "16 or more printable ASCII characters without spaces")
    .default(""),
});

export type Config = z.output<typeof configSchema>;

/** What Amazon's variables say of a store. Its client reads the others itself, those of credentials among them. */
export interface AwsSettings {
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
}

export const awsSettings = (environment: Environment = process.env): AwsSettings => ({
  endpoint: environment.AWS_ENDPOINT_URL_S3 || environment.AWS_ENDPOINT_URL || undefined,
  region: environment.AWS_REGION || environment.AWS_DEFAULT_REGION || undefined,
});

/** At each start Amazon's client would tell which Node later versions of it want. */
export function hushAws(): void {
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
}

type Environment = Readonly<Record<string, string | undefined>>;

/** A configuration that cannot be used; each problem names its key and the expected form. */
export class ConfigError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join("\n")}`);
    this.name = "ConfigError";
  }
}

/** Keys as they are written in the environment: `tiles.memoryBytes` → `MAPWRIGHT_TILES_MEMORY_BYTES`. */
export function environmentName(key: string): string {
  return `MAPWRIGHT_${key
    .replaceAll(".", "_")
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toUpperCase()}`;
}

/** Every key of the schema as a dotted path, in the schema's order. */
export function configKeys(): string[] {
  const keys: string[] = [];
  for (const [key, value] of Object.entries(configSchema.parse({}))) {
    if (value !== null && typeof value === "object" && !Array.isArray(value)) {
      for (const inner of Object.keys(value)) keys.push(`${key}.${inner}`);
    } else keys.push(key);
  }
  return keys;
}

type Tree = { [key: string]: unknown };

function put(tree: Tree, key: string, value: unknown): void {
  const [outer, inner] = key.split(".") as [string, string?];
  if (inner === undefined) tree[outer] = value;
  else {
    const branch = tree[outer];
    tree[outer] = { ...(typeof branch === "object" && branch !== null ? branch : {}), [inner]: value };
  }
}

/** Whether npx has started this process. */
export const isOfNpx = (environment = process.env): boolean => environment.npm_lifecycle_event === "npx";

/** Where values come from, in rising order of precedence. */
export interface ConfigSources {
  /** Values by dotted key that replace the schema's own defaults. */
  readonly defaults?: Readonly<Record<string, unknown>> | undefined;
  /** A JSON file; default `MAPWRIGHT_CONFIG` of the environment. */
  readonly file?: string | undefined;
  readonly environment?: Environment;
  /** Values by dotted key; undefined ones are ignored. */
  readonly flags?: Readonly<Record<string, unknown>>;
}

/**
 * Reads and checks the configuration.
 * @throws ConfigError naming every wrong key
 */
export function loadConfig(sources: ConfigSources = {}): Config {
  const environment = sources.environment ?? process.env;
  const tree: Tree = {};
  for (const [key, value] of Object.entries(sources.defaults ?? {})) {
    if (value !== undefined) put(tree, key, value);
  }
  const file = sources.file ?? environment.MAPWRIGHT_CONFIG;
  if (file) {
    let text: unknown;
    try {
      text = JSON.parse(readFileSync(file, "utf8"));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new ConfigError([`file ${file}: ${code === "ENOENT" ? "there is no such file" : message}`]);
    }
    if (typeof text !== "object" || text === null || Array.isArray(text)) {
      throw new ConfigError([`file ${file}: expected a JSON object`]);
    }
    for (const [key, value] of Object.entries(text)) {
      if (key !== "__proto__") tree[key] = value;
    }
  }
  if (environment.DATABASE_URL) tree.databaseUrl = environment.DATABASE_URL;
  if (environment.REDIS_URL) tree.redisUrl = environment.REDIS_URL;
  for (const key of configKeys()) {
    const value = environment[environmentName(key)];
    if (value !== undefined && value !== "") put(tree, key, value);
  }
  for (const [key, value] of Object.entries(sources.flags ?? {})) {
    if (value !== undefined) put(tree, key, value);
  }
  const parsed = configSchema.safeParse(tree);
  const problems = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => problemsOf(issue, tree))),
    ...unknownVariables(environment),
    ...(tree.blobs ? wrongEndpoint(awsSettings(environment)) : []),
  ];
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems);
  return parsed.data;
}

/** Keys whose values may contain a password: errors do not show them. */
const secrets: ReadonlySet<string> = new Set([
  "databaseUrl",
  "databaseDirectUrl",
  "redisUrl",
  "tilesRedisUrl",
  "blobs",
  "metricsToken",
]);
const longestShown = 100;

function problemsOf(issue: z.core.$ZodIssue, tree: Tree): string[] {
  const key = issue.path.join(".");
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((name) => {
      const whole = key ? `${key}.${name}` : name;
      return `${whole}: unknown key${didYouMean(whole, configKeys(), "")}`;
    });
  const expected = issue.message.replace(/^Invalid input: expected /, "").replace(/, received .*$/, "");
  const given = issue.path.reduce<unknown>(
    (value, part) => (value as Tree | undefined)?.[String(part)],
    tree,
  );
  const got =
    secrets.has(key) || given === undefined
      ? ""
      : `, got ${(JSON.stringify(given) ?? "").slice(0, longestShown)}`;
  return [`${key} (${environmentName(key)}): expected ${expected}${got}`];
}

function wrongEndpoint({ endpoint }: AwsSettings): string[] {
  const problem = endpoint === undefined ? undefined : problemOfEndpoint(endpoint);
  return problem === undefined ? [] : [`AWS_ENDPOINT_URL: expected ${problem}`];
}

/** Variables that are no keys, but for those that others set. */
function unknownVariables(environment: Environment): string[] {
  const names = ["MAPWRIGHT_CONFIG", ...configKeys().map(environmentName)];
  const known = new Set(names);
  return Object.keys(environment)
    .filter((name) => name.startsWith("MAPWRIGHT_") && !known.has(name) && !ofOthers.test(name))
    .sort()
    .map((name) => `${name}: unknown variable${didYouMean(name, names, "")}`);
}

/** Of Kubernetes, for a service named mapwright, and of this project's tests. */
const ofOthers = /^MAPWRIGHT_(SERVICE_|PORT_\d|TEST_)/;
