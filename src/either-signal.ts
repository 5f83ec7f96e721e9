/**
 * A signal that aborts with the first of several, until `release`. `AbortSignal.any` leaves something in each of them for as
 * long as they live (measured with Node 20: some 50 bytes for each call), which here is as long as the node, and does not keep a
 * signal of `AbortSignal.timeout`: once the garbage collector has come, that never aborts.
 */
export function eitherSignal(signals: readonly AbortSignal[]): {
  readonly signal: AbortSignal;
  readonly release: () => void;
} {
  const controller = new AbortController();
  const aborts = signals.map((signal) => {
    const abort = (): void => controller.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    return () => signal.removeEventListener("abort", abort);
  });
  return {
    signal: controller.signal,
    release: () => {
      for (const remove of aborts) remove();
    },
  };
}
