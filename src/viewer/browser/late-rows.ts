/** Made with a row that is seen, before and behind it: who scrolls or goes on by keys finds them there. */
const around = 20;
/** One row of so many is watched, as no list shows fewer: to look at 10,000 at each frame took a third of a second in all. */
const watched = 4;

interface Late {
  readonly entry: Element;
  /** undefined = it is made. */
  make: (() => void) | undefined;
}

/** Rows of a long list that are made when they are seen; until then something simple has their place. */
export class LateRows {
  /** In the order of the list. */
  private rows: Late[] = [];
  private readonly numbers = new Map<Element, number>();
  private readonly seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) this.makeAround(target);
  });

  /** Forgets the rows. */
  clear(): void {
    this.seen.disconnect();
    this.rows = [];
    this.numbers.clear();
  }

  /** @param entry of the list, which something simple is in @param make puts the row in its place */
  add(entry: Element, make: () => void): void {
    if (this.rows.length % watched === 0) this.seen.observe(entry);
    this.numbers.set(entry, this.rows.length);
    this.rows.push({ entry, make });
  }

  /** Makes the rows beside that of an entry: who presses keys fast would come to the end of those that are there. */
  makeAround(entry: Element): void {
    const at = this.numbers.get(entry);
    if (at === undefined) return;
    for (let near = at - around; near <= at + around; near++) this.make(near);
  }

  makeAll(): void {
    for (let at = 0; at < this.rows.length; at++) this.make(at);
  }

  private make(at: number): void {
    const row = this.rows[at];
    if (!row?.make) return;
    const { make } = row;
    row.make = undefined;
    this.seen.unobserve(row.entry);
    make();
  }
}
