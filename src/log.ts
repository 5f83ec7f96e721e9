import { type DestinationStream, type Logger, pino } from "pino";

export type Log = Logger;

/**
 * Structured log on stderr, one JSON object a line. Addresses are logged as paths without their query, and
 * headers not at all, so that no token can reach it.
 */
export function createLog(level: string, name: string, destination?: DestinationStream): Log {
  return pino(
    { level, base: { name, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
}
