import type { Hit } from "../../objects.js";
import { GeometryTools } from "./geometry-tools.js";
import { neighbours } from "./layer-data.js";
import type { ObjectForm } from "./object-form.js";
import type { OpenObject } from "./open-object.js";
import {
  drawnShape,
  geometryOf,
  movedShape,
  type Position,
  type Shape,
  type ShapeKind,
  shapeOf,
  unturned,
} from "./shape.js";
import { Snapping } from "./snapping.js";
import type { Surroundings } from "./surroundings.js";

/** The shape of the open object: shown on the map, drawn and changed. */

export interface ShapeWorkParts {
  readonly form: ObjectForm;
  open(): OpenObject | undefined;
  /** Nothing is drawn or changed any more. */
  ended(): void;
}

export class ShapeWork {
  private readonly tools: GeometryTools;
  /** Whether another object is opened, so that what is drawn and not ended stays with its own. */
  private isLeaving = false;

  constructor(
    private readonly around: Surroundings,
    private readonly own: ShapeWorkParts,
  ) {
    const { view, locale } = around.parts;
    const snapping = new Snapping({
      view,
      read: (bounds, signal) => neighbours(around.server, around.of, bounds, signal),
      own: () => own.open()?.id,
    });
    this.tools = new GeometryTools(view, locale.t, snapping);
  }

  get element(): HTMLElement {
    return this.tools.element;
  }

  get isRunning(): boolean {
    return this.tools.isRunning;
  }

  /** Where the object lies, as it would be saved, in the copy of the world that is looked at. */
  get hit(): Hit | undefined {
    const open = this.own.open();
    const geom = open?.values.geom;
    if (!open || !geom) return undefined;
    const bounds = L.geoJSON(geom).getBounds();
    if (!bounds.isValid()) return undefined;
    const { parts, of } = this.around;
    const away = parts.view.map.getCenter().lng - bounds.getCenter().lng;
    return { layer: of.item, object: { id: open.id ?? 0, geom }, shift: 360 * Math.round(away / 360) };
  }

  /** Shows it as it is now. */
  show(): void {
    // What is being changed is shown by its handles.
    if (!this.isRunning) this.around.parts.view.highlight(undefined, this.hit);
    this.around.update();
  }

  /** Takes back the last step of what is being drawn; false = there is none. */
  undo(): boolean {
    return this.tools.undo();
  }

  cancel(): void {
    this.tools.cancel();
  }

  /** Ends what is being drawn or changed, for something else is opened; what is not a shape yet stays with the draft. */
  leave(): void {
    this.isLeaving = true;
    this.tools.finish();
    this.tools.cancel();
    this.isLeaving = false;
  }

  /** Ends what is being drawn or changed, if it is a shape, and waits until the object has it. */
  async settle(): Promise<void> {
    // What adds a part goes on with the whole shape.
    for (let turn = 0; turn < 2 && this.isRunning; turn++) {
      this.tools.finish();
      await new Promise((resolve) => window.setTimeout(resolve));
    }
  }

  remove(): void {
    this.cancel();
    this.own.open()?.setGeometry(null);
    this.show();
  }

  /** @param begun what was drawn before the page was left */
  async draw(kind: ShapeKind, begun: readonly Position[] = []): Promise<void> {
    const open = this.own.open();
    if (!open) return;
    const { form } = this.own;
    const kept = (positions: readonly Position[]) => {
      open.setDrawn(positions.length > 0 ? { kind, positions } : undefined);
      if (this.own.open() === open) this.around.update();
    };
    const isLeft = () => this.isLeaving;
    let wasLeft = false;
    const positions = await this.tools.draw(kind, begun, kept, () => {
      wasLeft = isLeft();
    });
    if (positions) open.setGeometry(geometryOf(unturned(drawnShape(kind, positions))));
    else if (!wasLeft) open.setDrawn(undefined);
    if (this.own.open() === open) {
      if (!positions && open.id === undefined && !open.isDraft) form.close();
      else {
        this.show();
        form.focus();
      }
    }
    this.own.ended();
  }

  /** Draws a line across the object; undefined = none is wanted any more. */
  async drawAcross(): Promise<Shape | undefined> {
    const open = this.own.open();
    const { hit } = this;
    if (!open || !hit) return undefined;
    let isLeft = false;
    const drawing = this.tools.draw("LineString", [], undefined, () => {
      isLeft = this.isLeaving;
    });
    this.tools.tell(this.around.parts.locale.t("splitHint"));
    const positions = await drawing;
    if (this.own.open() === open && !isLeft) {
      this.show();
      this.own.form.focusTitle();
    }
    this.own.ended();
    if (!positions || isLeft) return undefined;
    return movedShape(drawnShape("LineString", positions), (lon, lat) => [lon - hit.shift, lat]);
  }

  async reshape(): Promise<void> {
    const open = this.own.open();
    const { hit } = this;
    const { view, locale, toasts } = this.around.parts;
    const before = open?.values.geom;
    const shape = shapeOf(before);
    if (!open || !before || !hit) return;
    if (!shape) {
      toasts.show(locale.t("geometryMixedHint"), "bad");
      return;
    }
    view.highlight(undefined);
    const turned = hit.shift === 0 ? shape : movedShape(shape, (lon, lat) => [lon + hit.shift, lat]);
    const set = (next: Shape) => {
      open.setGeometry(geometryOf(unturned(next)));
      this.around.update();
    };
    let isOver = false;
    const reshaping = this.tools.reshape(turned, (next) => {
      if (!isOver) set(next);
    });
    // The bar is over the map now, and handles may be below it.
    view.clear(hit);
    const result = await reshaping;
    isOver = true;
    if (!result) open.setGeometry(before);
    if (this.own.open() === open) {
      this.show();
      this.own.form.focusTitle();
    }
    this.own.ended();
  }
}
