import { hostsOf } from "../database-hosts.js";
import { adviceOnRefusal } from "../storage/connection-errors.js";
import { askHost, type HostState } from "../storage/primary.js";
import { bad, type Check, good } from "./check.js";
import { reasonOf } from "./environment.js";

/** What each server is, where DATABASE_URL names several. */
export async function checkHosts(address: string): Promise<Check[]> {
  const hosts = hostsOf(address);
  if (hosts.length === 1) return [];
  const states = await Promise.all(hosts.map(askHost));
  const primaries = states.filter(({ is }) => is === "primary");
  const last = primaries
    .map(({ timeline }) => timeline)
    .sort()
    .at(-1);
  return [
    ...states.map((state) => checkHost(state, state.timeline === last)),
    ...primaries
      .filter(({ timeline }) => timeline === last)
      .slice(0, 1)
      .map(checkReplication),
  ];
}

/** @param isLast whether no other one was promoted later */
function checkHost({ host, is, version, error }: HostState, isLast: boolean): Check {
  const name = `PostgreSQL ${host.name}`;
  if (error) {
    const advice = adviceOnRefusal(error) ?? "start it, or take it out of DATABASE_URL";
    return bad(name, `cannot be reached: ${reasonOf(error)}`, advice);
  }
  if (is !== "primary") return good(name, `${version}, ${is === "standby" ? "a standby" : "read-only"}`);
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
