import { LRUCache } from "lru-cache";
import type { Plan } from "./plan.js";

/** What an entry takes beside its own: key object, plan reference, list node. */
const overheadBytes = 300;

interface Entry<Answer> {
  readonly plan: Plan;
  readonly stamp: number;
  readonly answer: Answer;
  readonly bytes: number;
}

/**
 * Public answers by their raw address: a hit is one look-up and one comparison, without any parsing. An answer
 * counts as long as nothing that its plan depends on has changed since it was checked last.
 */
export class AddressCache<Answer> {
  private readonly entries: LRUCache<string, Entry<Answer>>;

  constructor(bytes: number) {
    this.entries = new LRUCache({
      maxSize: Math.max(bytes, overheadBytes),
      sizeCalculation: (entry) => entry.bytes,
    });
  }

  get(address: string): Answer | undefined {
    const entry = this.entries.get(address);
    return entry !== undefined && entry.stamp === entry.plan.stamp.value ? entry.answer : undefined;
  }

  /** @param stamp the plan's stamp when the answer was checked; below zero it is not kept */
  set(
    address: string,
    answer: Answer,
    checked: { readonly plan: Plan; readonly stamp: number; readonly answerBytes: number },
  ): void {
    if (checked.stamp < 0 || checked.stamp !== checked.plan.stamp.value) return;
    this.entries.set(address, {
      plan: checked.plan,
      stamp: checked.stamp,
      answer,
      bytes: overheadBytes + 2 * address.length + checked.answerBytes,
    });
  }

  clear(): void {
    this.entries.clear();
  }

  get size(): number {
    return this.entries.size;
  }
}
