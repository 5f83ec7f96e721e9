import type { Database } from "../storage/postgres.js";
import { Semaphore } from "../storage/semaphore.js";
import { type Account, authenticate } from "./accounts.js";
import { type Attempt, type LoginThrottle, wrongLogin } from "./login-throttle.js";

/** Signing in with a password: attempts are bounded in number, and the work that they make at once is too. */

export interface PasswordAttempt extends Attempt {
  readonly password: string;
}

/**
 * Bounds the passwords that are hashed at once in this process: each takes some 20 MB and a thread of the pool. A
 * login waits five seconds for its turn.
 */
export const hashingGate = (concurrency: number): Semaphore =>
  new Semaphore(concurrency, 5_000, "Too many logins are being checked now.");

export class Logins {
  constructor(
    private readonly db: Database,
    private readonly throttle: LoginThrottle,
    private readonly hashing: Semaphore,
  ) {}

  /**
   * The account of the project with that login and password.
   * @throws Failure forbidden, the same for an unknown login, a wrong password and too many attempts; busy
   */
  async check(project: number, attempt: PasswordAttempt, signal?: AbortSignal): Promise<Account> {
    // Refused before there is any work, and again when others have failed while this one waited.
    await this.throttle.admit(attempt);
    const release = await this.hashing.acquire(signal);
    try {
      await this.throttle.admit(attempt);
      const account = await authenticate(this.db, project, attempt.login, attempt.password);
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
}
