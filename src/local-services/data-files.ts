import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Two files of the data folder that only its owner can read: the passwords, and the addresses while services run. */

/** Passwords and ports that the private services keep from start to start; in `secrets.json`. */
export interface Secrets {
  readonly superuserPassword: string;
  readonly databasePassword: string;
  readonly redisPassword: string;
  databasePort: number;
  redisPort: number;
}

const newPassword = (): string => randomBytes(24).toString("base64url");

/** The secrets of a data folder, or new ones when the file is absent or damaged (then `fresh` is true). */
export function loadSecrets(dataDir: string): { secrets: Secrets; fresh: boolean } {
  const kept = readJson(dataDir, "secrets.json") as Partial<Secrets>;
  const fresh = !(kept.superuserPassword && kept.databasePassword && kept.redisPassword);
  return {
    secrets: {
      superuserPassword: newPassword(),
      databasePassword: newPassword(),
      redisPassword: newPassword(),
      databasePort: 0,
      redisPort: 0,
      // Nothing else depends on the passwords, so after a loss they are all set anew.
      ...(fresh ? {} : kept),
    },
    fresh,
  };
}

export const saveSecrets = (dataDir: string, secrets: Secrets): void =>
  writePrivateJson(dataDir, "secrets.json", secrets);

/** Addresses of the private services that run, and of the server that runs them; in `services.json`. */
export interface ServiceAddresses {
  /** For the server's role. */
  readonly databaseUrl?: string;
  /** For administration. */
  readonly superuserUrl?: string;
  readonly redisUrl?: string;
  /** As a browser on this machine reaches the server, without a slash at the end. */
  readonly serverUrl?: string;
}

/** Addresses of the services that run on a data folder; undefined when none run, or this user may not know. */
export function readAddresses(dataDir: string): ServiceAddresses | undefined {
  const kept = readJson(dataDir, "services.json");
  const addresses: ServiceAddresses = Object.fromEntries(
    ["databaseUrl", "superuserUrl", "redisUrl", "serverUrl"]
      .map((name) => [name, kept[name]])
      .filter(([, address]) => typeof address === "string"),
  );
  return Object.keys(addresses).length > 0 ? addresses : undefined;
}

export const saveAddresses = (dataDir: string, addresses: ServiceAddresses): void =>
  writePrivateJson(dataDir, "services.json", addresses);

export const removeAddresses = (dataDir: string): void =>
  rmSync(join(dataDir, "services.json"), { force: true });

/** The object in a file; an empty one when the file is absent, cut short by a crash, or something else. */
function readJson(dataDir: string, name: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataDir, name), "utf8"));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Writes a file that only the owner can read, wholly or not at all. */
function writePrivateJson(dataDir: string, name: string, value: object): void {
  const draft = join(dataDir, `${name}.${process.pid}.new`);
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, join(dataDir, name));
}
