/** Numbers of objects that never change, such as snapshots, for the keys of what is made of them. */
export class ObjectNumbers {
  private readonly numbers = new WeakMap<object, number>();
  private last = 0;

  of(one: object): number {
    const known = this.numbers.get(one);
    if (known !== undefined) return known;
    this.numbers.set(one, ++this.last);
    return this.last;
  }
}
