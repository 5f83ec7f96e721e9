import { openSync, readFileSync, renameSync, statSync } from "node:fs";
import type { Log } from "../log.js";
import type { Secrets } from "./secrets.js";

/** What both private services are started with. */
export interface ServiceContext {
  /** Absolute path of the folder that they live in. */
  readonly dataDir: string;
  readonly secrets: Secrets;
  /** The passwords are new, so an existing service has others. */
  readonly freshSecrets: boolean;
  /** False: the data may be lost with the machine's power (tests). */
  readonly durable: boolean;
  readonly log: Log;
  /** Told what takes long, as a short phrase. */
  readonly progress: (text: string) => void;
}

const longestLogBytes = 16 * 1024 ** 2;

/** Opens a log to append to; a long one is put aside as `<path>.old` first. */
export function keptLog(path: string): number {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > longestLogBytes)
    renameSync(path, `${path}.old`);
  return openSync(path, "a", 0o600);
}

/** The last lines of a text file. */
export function tail(path: string, lines = 12): string {
  return readFileSync(path, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
}
