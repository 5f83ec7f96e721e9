import { clientOwners, networkOf } from "../queues/clients.js";
import { FairSemaphore } from "../queues/fair-semaphore.js";
import type { Database } from "../storage/postgres.js";
import { type AuthenticatedAccount, authenticate, findMember } from "./accounts.js";
import { type Attempt, type LoginThrottle, type Refusal, wrongLogin } from "./login-throttle.js";
import { hashPassword } from "./passwords.js";
import { secretHash } from "./sessions.js";

/** Login with a password, with a limit on failed attempts and on concurrent hashing. */

export interface PasswordAttempt extends Attempt {
  readonly password: string;
}

/**
 * Bounds the passwords that are hashed concurrently in this process: each takes 20 MB and a thread of the pool. Networks take
 * turns, and the users behind one by their logins. Logins wait at most five seconds.
 */
export const hashingGate = (concurrency: number, timeoutMs = 5_000): FairSemaphore =>
  new FairSemaphore({
    permits: concurrency,
    mostWaiting: 1_000,
    timeoutMs,
    refusal: "Too many logins are being checked now.",
  });

export class Logins {
  constructor(
    private readonly db: Database,
    private readonly throttle: LoginThrottle,
    private readonly hashing: Pick<FairSemaphore, "acquire">,
  ) {}

  /**
   * The project's account with that login and password.
   * @throws Failure forbidden (with the same message for an unknown login, a wrong password and too many attempts); busy
   */
  async check(project: number, given: PasswordAttempt, signal?: AbortSignal): Promise<AuthenticatedAccount> {
    // Failures count for the account, in all of its projects; of one that there is not, for the login in this project.
    const member = await findMember(this.db, project, given.login);
    const login = member ? `account ${member.id}` : `${project} ${given.login}`;
    const attempt = { login, address: given.address };
    // Checked again after waiting: other attempts may have failed meanwhile.
    await this.throttle.admit(attempt);
    const release = await this.hashing.acquire({
      owners: [...clientOwners(networkOf(attempt.address)), attempt.login],
      ...(signal && { signal }),
    });
    try {
      await this.throttle.admit(attempt);
      const account = await authenticate(this.db, project, given.login, given.password);
      if (account) {
        await this.throttle.succeeded(attempt);
        return account;
      }
      await this.throttle.failed(attempt);
      throw wrongLogin();
    } finally {
      release();
    }
  }

  /**
   * What a secret stands for that needs no login. Wrong ones count as failed logins from that address.
   * @param refusal of a wrong one, and of one that is not looked at after too many
   * @throws Failure refusal; busy
   */
  async bySecret<Found>(
    { secret, address }: { readonly secret: string; readonly address: string },
    find: () => Promise<Found | undefined>,
    refusal: Refusal,
  ): Promise<Found> {
    const attempt = { login: `secret ${secretHash(secret)}`, address };
    await this.throttle.admit(attempt, refusal);
    const found = await find();
    if (found !== undefined) return found;
    await this.throttle.failed(attempt);
    throw refusal();
  }

  /**
   * The hash of a new password, made in turn with those of logins.
   * @param by who asks
   * @throws Failure invalid_value as `hashPassword`; busy
   */
  async hash(password: string, by: string, signal?: AbortSignal): Promise<string> {
    const release = await this.hashing.acquire({ owners: clientOwners(by), ...(signal && { signal }) });
    try {
      return await hashPassword(password);
    } finally {
      release();
    }
  }
}
