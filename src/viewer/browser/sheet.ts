/** Collapses and expands a bottom sheet by touch: dragging down folds, up unfolds. Small movements are clicks. */
export function dragToFold(handle: HTMLElement, fold: (isDown: boolean) => void): void {
  const minPixels = 24;
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
    if (Math.abs(distance) < minPixels) return;
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
