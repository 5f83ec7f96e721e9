import { createLog, type Log } from "../../src/log.js";

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly err?: { readonly message: string };
}

/** A log whose lines of level info and above are kept. */
export function keptLog(): { readonly log: Log; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const log = createLog("info", "test", { write: (line) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}
