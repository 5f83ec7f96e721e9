import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Addresses of the private services that `npm start` runs for a checkout, while it runs them. */
export interface PrivateServices {
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
}

/** What `services.json` in the data folder says; undefined when there is none, or none that this user may read. */
export function readServicesFile(dataDir: string): PrivateServices | undefined {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(dataDir, "services.json"), "utf8"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { databaseUrl, redisUrl } = value as Record<string, unknown>;
  return {
    ...(typeof databaseUrl === "string" ? { databaseUrl } : {}),
    ...(typeof redisUrl === "string" ? { redisUrl } : {}),
  };
}
