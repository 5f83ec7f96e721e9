/** Whether something of the page has the focus, and can be seen. */
const isFocused = (): boolean => {
  const { activeElement: one } = document;
  return one !== null && one !== document.body && one.checkVisibility();
};

/** Gives the focus, when what had it is gone, to the first of these that can have it. */
export function keepFocus(...places: readonly (HTMLElement | null | undefined)[]): void {
  for (const place of places) {
    if (isFocused()) return;
    place?.focus({ preventScroll: true });
  }
}
