/**
 * Settings of every session that this program opens in PostgreSQL, in any of its processes. A process that is gone must not keep its
 * locks: when its machine loses power nobody ends its connections, and one that is stopped still has a kernel that answers.
 */

/** How long a session may keep what it holds without a word of its process. */
export const silenceMs = 20_000;
/** Keep-alive of TCP: when the kernel asks an unused connection whether the other end is there, and how often. */
const keepAliveMs = 10_000;
const probeMs = 5_000;

/** For connections that `pg` opens: it would wait two hours. */
export const keptAlive = { keepAlive: true, keepAliveInitialDelayMillis: keepAliveMs } as const;

const settings: Readonly<Record<string, string | number>> = {
  // A machine that does not answer is gone.
  tcp_keepalives_idle: keepAliveMs / 1_000,
  tcp_keepalives_interval: probeMs / 1_000,
  tcp_keepalives_count: (silenceMs - keepAliveMs) / probeMs,
  tcp_user_timeout: silenceMs,
  // Looks for the client while a statement runs, too.
  client_connection_check_interval: probeMs,
  // Ends the transaction of a process that stands still. Processes that live are heard of (`startHeartbeat`).
  idle_in_transaction_session_timeout: silenceMs,
};

/** As PostgreSQL tells `idle_in_transaction_session_timeout` to sessions that have the settings. */
export const ownSilence = `${silenceMs / 1_000}s`;

/** Settings of sessions that hold something between their transactions, such as locks; `startHeartbeat` keeps them. */
export const holding = { idle_session_timeout: silenceMs } as const;

/** All settings as `options` of a connection, or PGOPTIONS. The values must not have spaces. */
export const sessionOptions = (added: Readonly<Record<string, string | number>>): string =>
  Object.entries({ ...settings, ...added })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ");
