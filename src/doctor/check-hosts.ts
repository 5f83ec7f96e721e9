import { hostsOf } from "../database-hosts.js";
import { reasonOf } from "../errors.js";
import { adviceOnRefusal } from "../storage/connection-errors.js";
import { askHost, type HostState } from "../storage/primary.js";
import { bad, type Check, good } from "./check.js";

/** What each server is, where DATABASE_URL names several. */
export async function checkHosts(address: string): Promise<Check[]> {
  const hosts = hostsOf(address);
  if (hosts.length === 1) return [];
  const states = await Promise.all(hosts.map((host) => askHost(host)));
  const primaries = states.filter(({ is }) => is === "primary");
  const last = primaries
    .map(({ timeline }) => timeline)
    .sort()
    .at(-1);
  const primary = primaries.find(({ timeline }) => timeline === last);
  return [
    ...states.map((state) => checkHost(state, { primary, isLast: state.timeline === last })),
    ...(primary ? [checkReplication(primary)] : []),
  ];
}

/** What a standby has caught up with in a second, even on a slow machine. */
const mostBehind = 64n << 20n;

interface Standing {
  readonly primary: HostState | undefined;
  /** No other server was promoted later. */
  readonly isLast: boolean;
}

function checkHost(state: HostState, { primary, isLast }: Standing): Check {
  const { host, is, version, error } = state;
  const name = `PostgreSQL ${host.name}`;
  if (error) {
    const advice = adviceOnRefusal(error) ?? "start it, or take it out of DATABASE_URL";
    return bad(name, `cannot be reached: ${reasonOf(error)}`, advice);
  }
  if (is === "read-only") return good(name, `${version}, read-only`);
  if (is === "standby") {
    // It was asked at another moment.
    const behind = primary && primary.position > state.position ? primary.position - state.position : 0n;
    const found = `${version}, a standby`;
    if (behind < mostBehind) return good(name, found);
    const advice =
      "look at its log, and at pg_stat_replication on the primary: a failover to it would take long, or lose edits";
    return bad(name, `${found}, ${behind >> 20n} MB behind the primary`, advice);
  }
  if (isLast) return good(name, `${version}, takes writes`);
  return bad(
    name,
    `${version}, takes writes, and so does one that was promoted later`,
    "stop it, and make it a standby: what is written to it is lost",
  );
}

function checkReplication({ isSynchronous }: HostState): Check {
  if (isSynchronous) return good("replication", "synchronous");
  const advice = "set synchronous_standby_names, else the last edits may be lost with the primary";
  return { ...good("replication", "asynchronous"), advice };
}
