import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/** Passwords and ports that the private services keep from start to start. */
export interface Secrets {
  readonly superuserPassword: string;
  readonly databasePassword: string;
  readonly redisPassword: string;
  databasePort: number;
  redisPort: number;
}

const newPassword = (): string => randomBytes(24).toString("base64url");

/** What `path` holds, or new passwords when it is absent or damaged (then `fresh` is true). */
export function loadSecrets(path: string): { secrets: Secrets; fresh: boolean } {
  try {
    const kept = JSON.parse(readFileSync(path, "utf8")) as Partial<Secrets>;
    if (kept.superuserPassword && kept.databasePassword && kept.redisPassword) {
      const { superuserPassword, databasePassword, redisPassword } = kept;
      const [databasePort, redisPort] = [kept.databasePort ?? 0, kept.redisPort ?? 0];
      return {
        secrets: { superuserPassword, databasePassword, redisPassword, databasePort, redisPort },
        fresh: false,
      };
    }
  } catch {
    // Absent or cut short by a crash: the passwords are set anew, nothing else depends on them.
  }
  const secrets = {
    superuserPassword: newPassword(),
    databasePassword: newPassword(),
    redisPassword: newPassword(),
    databasePort: 0,
    redisPort: 0,
  };
  return { secrets, fresh: true };
}

/** Writes `value` as JSON that only the owner can read, wholly or not at all. */
export function writePrivateJson(path: string, value: unknown): void {
  const draft = `${path}.${process.pid}.new`;
  writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}
