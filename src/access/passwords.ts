import { hash, verify } from "@node-rs/argon2";
import { failed } from "../errors.js";

/** Passwords as argon2id hashes, computed on the thread pool. */

// The first choice of OWASP's password storage cheat sheet. The package's default algorithm is argon2id, and its
// `Algorithm` is a const enum, which isolated modules cannot name.
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** A hash with the same cost that no account has. Verifying it makes an unknown login take as long as a known one. */
const dummyHash =
  "$argon2id$v=19$m=19456,t=2,p=1$Sur0QW5jj53jvk/65gNrnA$wdQwiJgwAm8s1dO9Tw4K+IOww+02XDkqSSp5dwASwYE";

const maxBytes = 1_024;

const leastCharacters = 8;

/**
 * Refuses passwords that are guessed soon.
 * @throws Failure invalid_value
 */
export function requireGoodPassword(login: string, password: string): void {
  if ([...password].length < leastCharacters)
    throw failed("invalid_value", `A password has at least ${leastCharacters} characters.`);
  if (password.toLowerCase() === login.toLowerCase())
    throw failed("invalid_value", "The password must not be the login.");
}

/**
 * @returns the PHC string to store
 * @throws Failure invalid_value for an empty password or one over 1024 bytes
 */
export async function hashPassword(password: string): Promise<string> {
  if (password === "" || Buffer.byteLength(password) > maxBytes) {
    throw failed("invalid_value", `A password has 1 to ${maxBytes} bytes.`);
  }
  return hash(password, cost);
}

/** Whether the password matches the hash `stored`. Without one, or an empty one, it takes the same time and returns false. */
export async function verifyPassword(stored: string | undefined, password: string): Promise<boolean> {
  const tooLong = Buffer.byteLength(password) > maxBytes;
  const matches = await verify(stored || dummyHash, tooLong ? "" : password);
  return matches && !!stored && !tooLong;
}
