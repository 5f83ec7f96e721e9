import { availableParallelism } from "node:os";
import pg from "pg";

const ownAddress = /^(?:\/|localhost$|127\.|::1$)/;

/** Cores that PostgreSQL and this process want both: those of this machine, if PostgreSQL runs here; undefined elsewhere. */
export function sharedCores(url: string): number | undefined {
  const { host } = new pg.Client(url);
  return ownAddress.test(host) ? availableParallelism() : undefined;
}
