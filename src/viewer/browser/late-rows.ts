/** Made with a row that is seen, before and behind it: who scrolls or goes on by keys finds them there. */
const around = 20;

interface Late {
  readonly place: Element;
  readonly make: () => void;
}

/** Rows of a long list that are made when they are seen; until then something simple has their place. */
export class LateRows {
  /** In the order of the list; undefined = made. */
  private rows: (Late | undefined)[] = [];
  private readonly numbers = new Map<Element, number>();
  private readonly seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const at = this.numbers.get(target);
      if (isIntersecting && at !== undefined)
        for (let near = at - around; near <= at + around; near++) this.make(near);
    }
  });

  /** Forgets the rows. */
  clear(): void {
    this.seen.disconnect();
    this.rows = [];
    this.numbers.clear();
  }

  /** @param place what has the place of the row @param make makes it, and takes `place` away */
  add(place: Element, make: () => void): void {
    this.numbers.set(place, this.rows.length);
    this.rows.push({ place, make });
    this.seen.observe(place);
  }

  makeAll(): void {
    for (let at = 0; at < this.rows.length; at++) this.make(at);
  }

  private make(at: number): void {
    const row = this.rows[at];
    if (!row) return;
    this.rows[at] = undefined;
    this.numbers.delete(row.place);
    this.seen.unobserve(row.place);
    row.make();
  }
}
