/** Which rows of a tree are selected, by the ids of their elements. Does not depend on the DOM. */
export class TreeSelection {
  private ids = new Set<number>();
  /** Where a range begins. */
  private anchor: number | undefined;
  /** What was selected before the range that ends where the user is. */
  private before: ReadonlySet<number> = new Set();

  get selected(): ReadonlySet<number> {
    return this.ids;
  }

  /** Nothing is selected; a range would begin there. */
  startAt(id: number | undefined): void {
    this.ids = new Set();
    this.before = new Set();
    this.anchor = id;
  }

  toggle(id: number): void {
    if (!this.ids.delete(id)) this.ids.add(id);
    this.before = new Set(this.ids);
    this.anchor = id;
  }

  /**
   * Selects all from where a range begins, in place of what the range had before.
   * @param order ids of the rows that are seen, from the top
   * @param from where it begins if it has no beginning yet
   */
  extend(order: readonly number[], id: number, from = id): void {
    if (this.anchor === undefined || !order.includes(this.anchor)) {
      this.anchor = from;
      this.before = new Set(this.ids);
    }
    const ends = [order.indexOf(this.anchor), order.indexOf(id)];
    const range = order.slice(Math.min(...ends), Math.max(...ends) + 1);
    this.ids = new Set([...this.before, ...range]);
  }

  select(ids: readonly number[]): void {
    this.ids = new Set(ids);
    this.before = new Set();
  }

  /** Some of the rows may be gone. */
  keep(known: ReadonlySet<number>): void {
    const left = (ids: ReadonlySet<number>) => new Set([...ids].filter((id) => known.has(id)));
    this.ids = left(this.ids);
    this.before = left(this.before);
    if (this.anchor !== undefined && !known.has(this.anchor)) this.anchor = undefined;
  }
}
