import { createPublicKey, createSecretKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import type { Log } from "../log.js";

/**
 * The keys that a project trusts for tokens of external issuers: the files in the project's folder.
 *
 * - `*.secret`: a shared secret of at least 32 bytes, for HS256. Line breaks at its end are ignored.
 * - `*.pem`: a public key or a certificate, for RS256, ES256 or EdDSA, depending on the type of key.
 * - `*.jwks.json`: a JSON Web Key Set of such public keys.
 * - `options.json`: `{"audience": …, "issuer": …, "claim": …}`, each optional.
 *
 * The algorithm follows from the key, never from the token, so a public key cannot be used as a shared secret.
 */

export type ExternalAlgorithm = "HS256" | "RS256" | "ES256" | "EdDSA";

export interface ExternalKey {
  readonly algorithm: ExternalAlgorithm;
  /** `kid` of a key in a key set. */
  readonly id: string | undefined;
  readonly key: KeyObject;
}

const optionsSchema = z.strictObject({
  /** Accepted values of `aud`; default: the project's code. */
  audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).optional(),
  /** Required `iss`; default: any. */
  issuer: z.string().min(1).optional(),
  /** The claim with the user's login; default: that of the installation. */
  claim: z.string().min(1).optional(),
});
export type ExternalOptions = z.output<typeof optionsSchema>;

export interface TrustedKeys {
  readonly keys: readonly ExternalKey[];
  readonly options: ExternalOptions;
}

const none: TrustedKeys = { keys: [], options: {} };
const maxFiles = 64;
const maxFileBytes = 65_536;
const projectCode = /^[\w-]{1,64}$/;
const optionsFile = "options.json";
const isKeyFile = (name: string): boolean => /\.(secret|pem|jwks\.json)$/.test(name);

/** The keys of all projects, in `<folder>/<project>/`. The files are checked on every use, so changes apply at once. */
export class KeyFolder {
  /** Keys by project, with the state of the files that they were read from. */
  private readonly known = new LRUCache<string, { readonly state: string; readonly trusted: TrustedKeys }>({
    max: 1_000,
  });

  constructor(
    private readonly folder: string,
    private readonly log: Log,
  ) {}

  /** The project's keys; none without a folder. Files that cannot be used are logged and skipped. */
  async read(project: string): Promise<TrustedKeys> {
    if (!projectCode.test(project)) return none;
    const folder = join(this.folder, project);
    const files = await this.list(folder);
    const state = files.map(({ name, version }) => `${name}\0${version}`).join("\n");
    const known = this.known.get(project);
    if (known?.state === state) return known.trusted;
    const trusted = await this.load(
      folder,
      files.map(({ name }) => name),
    );
    this.known.set(project, { state, trusted });
    return trusted;
  }

  /** Key and option files, each with a version that changes with its content. */
  private async list(folder: string): Promise<{ readonly name: string; readonly version: string }[]> {
    const names = await readdir(folder).catch(missing);
    const wanted = (names ?? []).filter((name) => isKeyFile(name) || name === optionsFile).sort();
    if (wanted.length > maxFiles) {
      this.log.warn({ folder, max: maxFiles }, "a folder of keys has too many files; none of them is used");
      return [];
    }
    const found = await Promise.all(
      wanted.map(async (name) => {
        const stats = await stat(join(folder, name), { bigint: true }).catch(missing);
        return stats?.isFile() && stats.size <= maxFileBytes
          ? [{ name, version: `${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}` }]
          : [];
      }),
    );
    return found.flat();
  }

  private async load(folder: string, names: readonly string[]): Promise<TrustedKeys> {
    const keys: ExternalKey[] = [];
    let options: ExternalOptions = {};
    for (const name of names) {
      try {
        const content = await readFile(join(folder, name));
        if (name === optionsFile) options = optionsSchema.parse(JSON.parse(content.toString("utf8")));
        else keys.push(...keysOf(name, content));
      } catch (error) {
        // Parsers quote the invalid text in their messages, and it may be a secret.
        const reason =
          error instanceof UnusableKey ? error.message : "its content does not match its extension";
        this.log.warn({ file: join(folder, name), reason }, "a file of external keys is not used");
        // Without the options, tokens could be accepted that the project wants to refuse.
        if (name === optionsFile) return none;
      }
    }
    return { keys, options };
  }
}

/** Error handler for files that do not exist, or were removed meanwhile. */
function missing(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw error;
}

class UnusableKey extends Error {}

/** @throws UnusableKey, or errors of the parsers */
function keysOf(name: string, content: Buffer): ExternalKey[] {
  if (name.endsWith(".secret")) return [secretKey(content)];
  const text = content.toString("utf8");
  if (name.endsWith(".pem")) {
    if (/PRIVATE KEY/.test(text))
      throw new UnusableKey("it holds a private key; only public ones belong here");
    return [publicKey(createPublicKey(text), undefined)];
  }
  const { keys } = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) }).parse(JSON.parse(text));
  return keys.filter((jwk) => jwk.use === undefined || jwk.use === "sig").map(keyOfSet);
}

function secretKey(content: Buffer): ExternalKey {
  let end = content.length;
  while (end > 0 && (content[end - 1] === 0x0a || content[end - 1] === 0x0d)) end--;
  // RFC 7518, 3.2: no shorter than the hash.
  if (end < 32) throw new UnusableKey("a secret has at least 32 bytes");
  return { algorithm: "HS256", id: undefined, key: createSecretKey(content.subarray(0, end)) };
}

function keyOfSet(jwk: Readonly<Record<string, unknown>>): ExternalKey {
  if (jwk.kty === "oct" || jwk.d !== undefined) {
    throw new UnusableKey("a key set holds public keys only; a shared secret has a file of its own");
  }
  const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
  const made = publicKey(key, typeof jwk.kid === "string" ? jwk.kid : undefined);
  if (jwk.alg !== undefined && jwk.alg !== made.algorithm) {
    throw new UnusableKey(`the algorithm of a key is none of RS256, ES256, EdDSA, or not that of its kind`);
  }
  return made;
}

function publicKey(key: KeyObject, id: string | undefined): ExternalKey {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "rsa":
      if (modulusLength < 2048) throw new UnusableKey("an RSA key has at least 2048 bits");
      return { algorithm: "RS256", id, key };
    case "ec":
      if (namedCurve !== "prime256v1") throw new UnusableKey("an EC key is one of the curve P-256");
      return { algorithm: "ES256", id, key };
    case "ed25519":
      return { algorithm: "EdDSA", id, key };
    default:
      throw new UnusableKey("a public key is one of RSA, EC P-256 or Ed25519");
  }
}
