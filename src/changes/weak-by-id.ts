interface Held<T extends object> {
  readonly id: number;
  readonly ref: WeakRef<T>;
}

/**
 * A map of weak references by id. An entry lives as long as something else references its object, so all users of an id
 * share one object, and unused ones take no memory. Unlike in an LRU cache, no entry is dropped while it is in use.
 */
export class WeakById<T extends object> {
  private readonly held = new Map<number, Held<T>>();
  private readonly collected = new FinalizationRegistry<Held<T>>((gone) => {
    // The id may have another entry by now.
    if (this.held.get(gone.id) === gone) this.held.delete(gone.id);
  });

  get(id: number): T | undefined {
    return this.held.get(id)?.ref.deref();
  }

  set(id: number, object: T): void {
    const held = { id, ref: new WeakRef(object) };
    this.held.set(id, held);
    this.collected.register(object, held);
  }

  /** All objects that are in use. */
  *values(): Generator<T, void, undefined> {
    for (const { ref } of this.held.values()) {
      const object = ref.deref();
      if (object) yield object;
    }
  }
}
