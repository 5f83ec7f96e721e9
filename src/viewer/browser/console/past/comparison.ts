import { h } from "../../dom.js";
import { differing } from "./differing.js";
import type { Frame, View } from "./frame.js";
import { memberText } from "./members.js";

/** What was there before a change beside what was there after it. */

interface Compared {
  readonly title: string;
  readonly values: Promise<{
    readonly before: Readonly<Record<string, unknown>> | null;
    readonly after: Readonly<Record<string, unknown>> | null;
  }>;
  readonly back: () => View;
}

/** Of a text no more is shown. */
const mostLetters = 20_000;

export function comparisonView(frame: Frame, { title, values, back }: Compared): View {
  const { t } = frame;
  let shown: readonly HTMLElement[] = [h("p", { class: "hint" }, t("isChecking"))];
  void values
    .then(({ before, after }) => {
      const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
      shown =
        names.length === 0
          ? [h("p", {}, t("historyNone"))]
          : names.flatMap((name) => [
              h("h4", {}, memberText(name, t)),
              compared(frame, valueText(before?.[name]), valueText(after?.[name])),
            ]);
    })
    .catch((error: unknown) => {
      shown = [];
      frame.tell(error);
    })
    .finally(() => frame.render());
  return { tab: "history", title, back, render: () => shown };
}

function compared({ t }: Frame, before: string, after: string): HTMLElement {
  const [was, isNow] = differing(before, after);
  const side = (title: string, text: string) =>
    h(
      "div",
      {},
      h("h5", {}, title),
      h("pre", { class: "past-value", tabindex: 0 }, text.slice(0, mostLetters)),
    );
  return h("div", { class: "past-compared" }, side(t("valueBefore"), was), side(t("valueAfter"), isNow));
}

/** A value as text, over several lines where it has parts. */
function valueText(value: unknown): string {
  if (value === undefined || value === null || value === "") return "—";
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
}
