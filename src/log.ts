import { type DestinationStream, type Logger, pino } from "pino";

export type Log = Logger;

/**
 * Structured log on stderr, one JSON object a line. Addresses are logged as paths without their query, and
 * headers not at all, so that no token can reach it.
 */
export function createLog(level: string, name: string, destination?: DestinationStream): Log {
  return pino(
    {
      level,
      base: { name, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorFields },
    },
    destination ?? pino.destination({ fd: 2, sync: true }),
  );
}

/** The fields of an error that are logged. Errors of drivers also refer to their connection, with its password. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, code, detail, where, cause } = error as Error & Record<string, unknown>;
  return {
    name,
    message,
    ...(code !== undefined ? { code } : {}),
    ...(detail !== undefined ? { detail } : {}),
    ...(where !== undefined ? { where } : {}),
    ...(cause !== undefined ? { cause: errorFields(cause) } : {}),
    stack,
  };
}
