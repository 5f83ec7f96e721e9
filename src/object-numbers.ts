/** Numbers of objects that never change, such as snapshots, for the keys of what is made of them. */
export class ObjectNumbers {
  private readonly numbers = new WeakMap<object, number>();
  private last = 0;

  of(one: object): number {
    const known = this.numbers.get(one) ?? ++this.last;
    this.numbers.set(one, known);
    return known;
  }
}
