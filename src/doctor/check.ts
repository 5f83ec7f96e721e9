/** What `mapwright doctor` tells. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was found. */
  readonly found: string;
  /** What to do about a problem, or better. */
  readonly advice?: string;
}

export const good = (name: string, found: string): Check => ({ name, ok: true, found });
export const bad = (name: string, found: string, advice: string): Check => ({
  name,
  ok: false,
  found,
  advice,
});
