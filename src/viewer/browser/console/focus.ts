/** Whether something of the page has the focus, and can be seen. */
const isFocused = (): boolean => {
  const { activeElement: one } = document;
  // What was switched off loses it a moment later.
  return one !== null && one !== document.body && one.checkVisibility() && !one.matches(":disabled");
};

/** Gives the focus, when what had it is gone, to the first of these that can have it. */
export function keepFocus(...places: readonly (HTMLElement | null | undefined)[]): void {
  for (const place of places) {
    if (isFocused()) return;
    place?.focus({ preventScroll: true });
  }
}

/** Whether keys write something there, and are not meant for the page. */
export const isWritten = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches("input:not([type=checkbox]), textarea, select"));
