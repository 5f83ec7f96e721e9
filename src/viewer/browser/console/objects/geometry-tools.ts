import { button } from "../../dom.js";
import type { MapView } from "../../map-view.js";
import type { Translate } from "../../texts.js";
import { DrawBar } from "./draw-bar.js";
import { Drawing } from "./drawing.js";
import {
  drawnShape,
  leastVertices,
  type Position,
  type Shape,
  type ShapeKind,
  withHole,
  withPart,
} from "./shape.js";
import { ShapeView } from "./shape-view.js";
import type { Snapping } from "./snapping.js";

/** Draws shapes on the map and changes them, one at a time. A bar over the map tells how, and has its buttons. */

/** Steps that can be taken back: shapes of many vertices take much memory. */
const mostSteps = 100;

/** What is being done; it is ended from outside by `end`. */
interface Running {
  finish(isByKey: boolean): void;
  cancel(): void;
  /** Takes the last step back; false = there is none. */
  undo(): boolean;
}

export class GeometryTools {
  private readonly bar: DrawBar;
  private running: Running | undefined;

  constructor(
    private readonly view: MapView,
    private readonly t: Translate,
    private readonly snapping: Snapping,
  ) {
    this.bar = new DrawBar(t);
    snapping.told = (isSnapped) => this.bar.tellSnapped(isSnapped);
  }

  get element(): HTMLElement {
    return this.bar.element;
  }

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** Ends what is being done, and keeps it. */
  finish(): void {
    this.running?.finish(false);
  }

  cancel(): void {
    this.running?.cancel();
  }

  undo(): boolean {
    return this.running?.undo() ?? false;
  }

  /** Says what is being drawn, in place of how. */
  tell(what: string): void {
    this.bar.tellAim(what);
  }

  /**
   * The vertices that are drawn; undefined = it was cancelled.
   * @param begun what was drawn before @param changed is told each step @param over is told at once when it has ended
   */
  draw(
    kind: ShapeKind,
    begun: readonly Position[] = [],
    changed: (positions: readonly Position[]) => void = () => undefined,
    over: () => void = () => undefined,
  ): Promise<readonly Position[] | undefined> {
    this.cancel();
    return new Promise((resolve) => {
      const finish = this.button("finish", true, () => drawing.finish());
      finish.hidden = kind === "Point";
      finish.disabled = true;
      const end = (positions: readonly Position[] | undefined) => {
        this.ended();
        over();
        resolve(positions);
      };
      const events = {
        changed: (positions: readonly Position[]) => {
          finish.disabled = positions.length < leastVertices[kind];
          changed(positions);
        },
        ended: end,
      };
      const drawing = new Drawing(this.view, this.snapping, kind, events, begun);
      this.begin(kind, [this.button("cancel", false, () => drawing.cancel()), finish], drawing);
      this.view.map.getContainer().focus({ preventScroll: true });
    });
  }

  /**
   * Changes a shape by its handles.
   * @param changed is told each step
   * @returns what it is then; undefined = the steps shall be forgotten
   */
  reshape(shape: Shape, changed: (shape: Shape) => void): Promise<Shape | undefined> {
    this.cancel();
    const { t, view } = this;
    return new Promise((resolve) => {
      let now = shape;
      const before: Shape[] = [];
      const set = (next: Shape) => {
        before.push(now);
        if (before.length > mostSteps) before.shift();
        now = next;
        changed(next);
      };
      const end = (result: Shape | undefined) => {
        shown.remove();
        this.ended();
        resolve(result);
      };
      /** Draws a part, and goes on with what there is then. */
      const add = async (join: (drawn: readonly Position[]) => Shape | undefined) => {
        shown.remove();
        this.ended();
        const drawn = await this.draw(shape.kind);
        const joined = drawn && join(drawn);
        if (joined) set(joined);
        resolve(this.reshape(now, changed));
      };
      const more =
        shape.kind === "Polygon"
          ? [
              this.button(
                "addPart",
                false,
                () => void add((drawn) => withPart(now, drawnShape("Polygon", drawn))),
              ),
              this.button("addHole", false, () => void add((drawn) => withHole(now, drawn))),
            ]
          : [
              this.button(
                "addPart",
                false,
                () => void add((drawn) => withPart(now, drawnShape(shape.kind, drawn))),
              ),
            ];
      this.begin(
        "reshape",
        [
          ...more,
          this.button("cancel", false, () => end(undefined)),
          this.button("finish", true, () => end(now)),
        ],
        {
          finish: () => end(now),
          cancel: () => end(undefined),
          undo: () => {
            const last = before.pop();
            if (!last) return false;
            now = last;
            shown.show(last);
            changed(last);
            return true;
          },
        },
      );
      const shown = new ShapeView(view.map, t, this.snapping, shape, {
        changed: set,
        crowded: (isCrowded) => this.bar.tellCrowded(isCrowded),
        reached: (place) => view.uncover(place),
      });
      view.take = () => undefined;
      shown.focus();
    });
  }

  private button(key: "finish" | "cancel" | "addPart" | "addHole", isMain: boolean, press: () => void) {
    return button({ class: isMain ? "button small main" : "button small" }, press, this.t(key));
  }

  private begin(what: ShapeKind | "reshape", actions: readonly HTMLElement[], running: Running): void {
    this.bar.show(what, actions);
    this.running = running;
    this.snapping.begin();
    this.view.map.doubleClickZoom.disable();
    document.addEventListener("keydown", this.key, { capture: true });
  }

  private ended(): void {
    this.running = undefined;
    this.snapping.end();
    this.view.take = undefined;
    this.bar.hide();
    this.view.map.doubleClickZoom.enable();
    document.removeEventListener("keydown", this.key, { capture: true });
  }

  private readonly key = (event: KeyboardEvent): void => {
    const { target } = event;
    const isOnMap =
      target === document.body ||
      (target instanceof Node && this.view.map.getContainer().contains(target)) ||
      (target instanceof Node && this.element.contains(target));
    // Questions over the page have keys of their own.
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && isOnMap) this.cancel();
    else if (event.key === "Enter" && isOnMap && !(target instanceof HTMLButtonElement))
      this.running?.finish(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
