export type RedisInfo = Readonly<Record<string, string | undefined>>;

/** The lines of an answer to INFO. */
export const infoOf = (text: string): RedisInfo =>
  Object.fromEntries([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name, value]) => [name, value]));
