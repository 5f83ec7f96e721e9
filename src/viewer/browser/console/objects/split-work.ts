import { isServerError } from "../../map-server.js";
import { newKey } from "../new-key.js";
import { problemOf, problemText } from "../problem.js";
import type { ObjectWork } from "./object-work.js";
import { geometryOf } from "./shape.js";
import type { ShapeWork } from "./shape-work.js";
import type { Surroundings } from "./surroundings.js";

/** The open object is split by a line that is drawn across it. */

export interface SplitWorkParts {
  readonly work: Pick<ObjectWork, "open" | "refresh">;
  readonly shape: ShapeWork;
  /** The pieces, of which the first is the object. */
  split(ids: readonly number[]): void;
  undo(): void;
}

interface Asked {
  readonly id: number;
  readonly line: GeoJSON.Geometry;
  readonly match: string | undefined;
  readonly key: string;
}

export class SplitWork {
  constructor(
    private readonly around: Surroundings,
    private readonly own: SplitWorkParts,
  ) {}

  async begin(): Promise<void> {
    const { work, shape } = this.own;
    const { tasks, parts } = this.around;
    const { open } = work;
    if (open?.id === undefined || open.isDraft || tasks.isBusy) return;
    const { id } = open;
    const line = await shape.drawAcross();
    if (!line || work.open !== open) return;
    // Something was written or has come from others meanwhile.
    if (open.isDraft) {
      parts.toasts.show(parts.locale.t("saveFirst"), "bad");
      return;
    }
    await this.send({ id, line: geometryOf(line), match: open.version, key: newKey() });
  }

  private send(asked: Asked): Promise<void> {
    const { tasks } = this.around;
    return tasks.run(async () => {
      const { known } = this.around;
      if (!known) return;
      const { id, line, match, key } = asked;
      let ids: readonly number[];
      try {
        ids = await known.store.split(id, line, { match, key });
      } catch (error) {
        await this.refused(asked, error);
        return;
      }
      await this.isSplit(ids);
    });
  }

  private async isSplit(ids: readonly number[]): Promise<void> {
    const { parts, done, renewed } = this.around;
    const { toasts, locale } = parts;
    await done.note(ids);
    this.own.split(ids);
    renewed();
    await this.own.work.refresh(ids);
    const undo = { label: locale.t("undo"), press: () => this.own.undo() };
    toasts.show(locale.t("objectSplit", { n: ids.length }), "good", undo);
  }

  private async refused(asked: Asked, error: unknown): Promise<void> {
    const { toasts, locale } = this.around.parts;
    const { t } = locale;
    const { mayPass } = problemOf(error, t);
    // The same request: what has been done already is not done again.
    const retry = { label: t("retry"), press: () => void this.send(asked) };
    const isUncut = isServerError(error) && ["invalid_value", "invalid_geometry"].includes(error.code ?? "");
    const text = isUncut ? `${t("notSplit")} ${error.told}` : problemText(error, t);
    toasts.show(text, "bad", mayPass ? retry : undefined);
    if (!mayPass) await this.own.work.refresh([asked.id]);
  }
}
