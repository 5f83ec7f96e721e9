interface Held<T extends object> {
  readonly id: number;
  readonly ref: WeakRef<T>;
}

/**
 * Things by id, each for as long as somebody else holds it: whoever works with one hears of its changes, and what nobody
 * works with any more takes no memory. There is no number beyond which one is forgotten while it is in use.
 */
export class WeakById<T extends object> {
  private readonly held = new Map<number, Held<T>>();
  private readonly collected = new FinalizationRegistry<Held<T>>((gone) => {
    // Another one may have come under the same id meanwhile.
    if (this.held.get(gone.id) === gone) this.held.delete(gone.id);
  });

  get(id: number): T | undefined {
    return this.held.get(id)?.ref.deref();
  }

  set(id: number, thing: T): void {
    const held = { id, ref: new WeakRef(thing) };
    this.held.set(id, held);
    this.collected.register(thing, held);
  }

  /** All that are in use. */
  *values(): Generator<T, void, undefined> {
    for (const { ref } of this.held.values()) {
      const thing = ref.deref();
      if (thing) yield thing;
    }
  }

  /** Entries, those not yet cleared away among them. */
  get size(): number {
    return this.held.size;
  }
}
