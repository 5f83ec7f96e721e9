/** Lets a finger fold and unfold a sheet: down folds, up unfolds. Small movements stay presses. */
export function dragToFold(handle: HTMLElement, fold: (isDown: boolean) => void): void {
  const leastPixels = 24;
  let start: number | undefined;
  let moved = false;
  handle.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse") return;
    start = event.clientY;
    moved = false;
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", (event) => {
    if (start === undefined || moved) return;
    const distance = event.clientY - start;
    if (Math.abs(distance) < leastPixels) return;
    moved = true;
    fold(distance > 0);
  });
  const end = () => {
    start = undefined;
  };
  handle.addEventListener("pointerup", end);
  handle.addEventListener("pointercancel", end);
  handle.addEventListener(
    "click",
    (event) => {
      if (!moved) return;
      moved = false;
      event.preventDefault();
      event.stopImmediatePropagation();
    },
    { capture: true },
  );
}
