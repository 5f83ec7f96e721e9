import type { Clock } from "../../src/clock.js";

/** Time that passes when it is told to. */
export class Hours implements Clock {
  private ms = 0;
  private readonly alarms = new Set<{ readonly at: number; readonly work: () => void }>();

  now(): number {
    return this.ms;
  }
  wall(): number {
    return this.ms;
  }
  after(ms: number, work: () => void): () => void {
    const alarm = { at: this.ms + ms, work };
    this.alarms.add(alarm);
    return () => this.alarms.delete(alarm);
  }
  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }
  async pass(ms: number): Promise<void> {
    this.ms += ms;
    for (const alarm of this.alarms) {
      if (alarm.at > this.ms) continue;
      this.alarms.delete(alarm);
      alarm.work();
    }
    await this.turn();
  }
  get waiting(): number {
    return this.alarms.size;
  }
}
