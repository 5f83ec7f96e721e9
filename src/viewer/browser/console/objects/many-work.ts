import { objectTitle } from "../../attributes.js";
import { ownColumns } from "../../value-columns.js";
import { confirmed } from "../confirmed.js";
import { askValue, changeableColumns } from "./change-dialog.js";
import { ManyChanges, type ManyChangesEvents } from "./many-changes.js";
import { isSame } from "./merge.js";
import { askKept } from "./merge-dialog.js";
import type { Surroundings } from "./surroundings.js";

/** What is done with several objects at once, in one transaction. */

/** More are neither read nor sent at once. */
const mostChanged = 20_000;
/** As the server has it. */
const mostMerged = 1_000;

export interface ManyWorkEvents extends ManyChangesEvents {
  undo(): void;
}

export class ManyWork {
  private readonly changes: ManyChanges;

  constructor(
    private readonly around: Surroundings,
    private readonly events: ManyWorkEvents,
  ) {
    this.changes = new ManyChanges(around, events);
  }

  async remove(ids: readonly number[]): Promise<void> {
    const { parts, known, tasks, renewed } = this.around;
    const { root, locale, toasts } = parts;
    const { t } = locale;
    const n = ids.length;
    if (n === 0 || !known || tasks.isBusy) return;
    const isSure = await confirmed(
      { root, locale },
      { title: t("deleteObjects", { n }), text: t("deleteObjectsText"), action: t("delete") },
    );
    if (!isSure) return;
    await tasks.run(async () => {
      await this.changes.remove(ids);
      renewed();
      toasts.show(t("objectsDeleted", { n }), "plain", { label: t("undo"), press: () => this.events.undo() });
    });
  }

  /** Makes one object of several. */
  async merge(marked: readonly number[]): Promise<void> {
    const { parts, known, tasks } = this.around;
    const { root, locale, toasts } = parts;
    const { t } = locale;
    if (marked.length < 2 || !known || tasks.isBusy) return;
    if (marked.length > mostMerged) {
      toasts.show(t("mergeTooMany", { n: mostMerged }), "bad");
      return;
    }
    let titles: readonly string[] | undefined;
    await tasks.run(async () => {
      titles = await this.titles(marked);
    });
    const kept = titles && (await askKept({ root, locale }, marked, titles));
    if (kept === undefined) return;
    const deleted = marked.filter((id) => id !== kept);
    await tasks.run(async () => {
      await this.changes.merge(kept, deleted);
      const undo = { label: t("undo"), press: () => this.events.undo() };
      toasts.show(t("objectsMerged", { n: marked.length }), "good", undo);
    });
  }

  /** Gives objects the same value in one column. @param marked none = all that the table lists */
  async change(marked: readonly number[]): Promise<void> {
    const { parts, known, tasks, of, table } = this.around;
    const { root, locale, toasts } = parts;
    const { t } = locale;
    const n = marked.length || (table.total ?? 0);
    if (n === 0 || !known || tasks.isBusy) return;
    const columns = changeableColumns(known.columns);
    if (columns.length === 0) return;
    if (n > mostChanged) {
      toasts.show(t("changeTooMany", { n: mostChanged }), "bad");
      return;
    }
    const { languages } = of;
    const asked = await askValue({ root, locale }, columns, { languages, constraints: known.constraints }, n);
    if (!asked) return;
    const { code } = asked.column;
    await tasks.run(async () => {
      const which = { limit: mostChanged, ...(marked.length > 0 && { ids: marked }) };
      const found = await table.values(code, which);
      // Of an object that has it already the history would tell of something else.
      const ids = found.filter(({ fields }) => !isSame(fields?.[code], asked.value)).map(({ id }) => id);
      if (ids.length > 0) await this.changes.change(ids, { [code]: asked.value });
      const undo = { label: t("undo"), press: () => this.events.undo() };
      toasts.show(t("objectsChanged", { n: ids.length }), "plain", ids.length > 0 ? undo : undefined);
    });
  }

  /** In the order of the ids. */
  private async titles(ids: readonly number[]): Promise<readonly string[]> {
    const { parts, known, table } = this.around;
    const own = ownColumns(known?.columns ?? []);
    const texts = own.filter(({ type }) => type === "string" || type === "text");
    // The column whose text is a title, of an object that has one in each.
    const probe = { id: 0, fields: Object.fromEntries(texts.map(({ code }) => [code, code])) };
    const code = objectTitle(probe, own, parts.locale);
    const found = texts.some((column) => column.code === code)
      ? await table.values(code, { ids, limit: mostMerged })
      : [];
    const objects = new Map(found.map((one) => [one.id, one]));
    return ids.map((id) => objectTitle(objects.get(id) ?? { id }, own, parts.locale));
  }
}
