import { availableParallelism } from "node:os";
import { hostsOf } from "../database-hosts.js";

const ownAddress = /^(?:\/|localhost$|127\.|::1$)/;

/** Cores that PostgreSQL and this process want both: those of this machine, if PostgreSQL runs here; undefined elsewhere. */
export function sharedCores(url: string): number | undefined {
  return hostsOf(url).some(({ host }) => ownAddress.test(host)) ? availableParallelism() : undefined;
}
