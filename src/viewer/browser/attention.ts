/** Whether somebody uses the page: what it asks for by itself, while it is left alone, keeps no session alive. */

/** Pointers move by themselves, when what is below them does. */
const uses = ["pointerdown", "keydown", "wheel", "touchstart"] as const;
/** What is asked for so long after a use may be because of it. */
const followingMs = 60_000;

let usedAt = performance.now();
for (const use of uses)
  window.addEventListener(
    use,
    () => {
      usedAt = performance.now();
    },
    { capture: true, passive: true },
  );

export const isAttended = (): boolean => performance.now() - usedAt < followingMs;

/** Headers of all that the page asks for. */
export const attention = (): Readonly<Record<string, string>> =>
  isAttended() ? {} : { "x-unattended": "1" };
