import { attention } from "./attention.js";

/**
 * Pictures of private maps: they need the session's token, which has no place in an address, so that they are fetched and
 * shown from memory. Public ones have their own address.
 */
export class Pictures {
  private readonly kept = new Map<string, Promise<string>>();

  /** @param most pictures of private maps that are kept; the oldest are let go */
  constructor(private readonly most = 300) {}

  /** The address for an `<img>`. @throws when the picture of a private map can not be loaded */
  address(url: string, token: string | undefined): Promise<string> {
    if (token === undefined) return Promise.resolve(url);
    const known = this.kept.get(url);
    if (known) return known;
    const loaded = load(url, token);
    this.kept.set(url, loaded);
    loaded.catch(() => this.kept.delete(url));
    for (const [oldest, address] of this.kept) {
      if (this.kept.size <= this.most) break;
      this.kept.delete(oldest);
      void letGo(address);
    }
    return loaded;
  }

  /** Lets all go. */
  clear(): void {
    for (const address of this.kept.values()) void letGo(address);
    this.kept.clear();
  }
}

async function load(url: string, token: string): Promise<string> {
  const reply = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, ...attention() },
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
  if (!reply.ok) throw new Error(`The picture could not be loaded: ${reply.status}.`);
  return URL.createObjectURL(await reply.blob());
}

/** Images that are on their way into the page may still read what they were given. */
const graceMs = 10_000;

const letGo = (address: Promise<string>): Promise<unknown> =>
  address.then(
    (url) => setTimeout(() => URL.revokeObjectURL(url), graceMs),
    () => undefined,
  );
