import { button, h, icon } from "../../dom.js";
import type { TextKey } from "../../texts.js";
import type { Frame, View } from "./frame.js";

/** How the installation is: what is checked, imports, and layers that cannot be drawn. */

interface Place {
  readonly project: string;
  readonly map: string;
  readonly layer: string;
}
interface State {
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly found: string;
    readonly advice: string | null;
  }[];
  readonly checked: string;
  readonly imports: readonly (Place & {
    readonly login: string;
    readonly state: "running" | "done" | "failed" | "cancelled";
    readonly rows: number;
    readonly created: string;
  })[];
  readonly layers: readonly (Place & { readonly cause: string })[];
}

const stateTexts: Readonly<Record<State["imports"][number]["state"], TextKey>> = {
  running: "jobRunning",
  done: "jobDone",
  failed: "jobFailed",
  cancelled: "jobCancelled",
};

export function stateView(frame: Frame): View {
  const { t, parts } = frame;
  let state: State | undefined;
  let isLooking = true;
  void frame
    .ask<State>("GET", ["state"])
    .then((found) => {
      state = found;
    })
    .catch((error: unknown) => frame.tell(error))
    .finally(() => {
      isLooking = false;
      frame.render();
    });
  const time = (moment: string) =>
    new Intl.DateTimeFormat(parts.locale.language, { dateStyle: "short", timeStyle: "short" }).format(
      new Date(moment),
    );
  const nameOf = ({ project, map, layer }: Place) => `${project} / ${map} / ${layer}`;

  const checkOf = ({ name, ok, found, advice }: State["checks"][number]) => {
    const kind = ok ? (advice === null ? "good" : "note") : "bad";
    return h(
      "li",
      { class: `check check-${kind}` },
      icon(kind === "good" ? "check" : "alert"),
      h(
        "div",
        {},
        h("strong", {}, name),
        " ",
        ...(kind === "bad" ? [h("span", { class: "visually-hidden" }, `${t("isProblem")}: `)] : []),
        found,
        ...(advice === null ? [] : [h("small", {}, advice)]),
      ),
    );
  };
  const shown = ({ checks, checked, imports, layers }: State): readonly HTMLElement[] => {
    const problems = checks.filter(({ ok }) => !ok);
    return [
      h("p", { class: "hint" }, t("checkedAt", { time: time(checked) })),
      h("h3", {}, problems.length === 0 ? t("checksGood") : t("checksBad", { n: problems.length })),
      h(
        "ul",
        { class: "checks", lang: "en" },
        ...[...problems, ...checks.filter(({ ok }) => ok)].map(checkOf),
      ),
      h("h3", {}, t("layersMissing")),
      layers.length === 0
        ? h("p", { class: "hint" }, t("noneNow"))
        : h(
            "ul",
            { class: "checks" },
            ...layers.map((one) => h("li", { class: "check" }, `${nameOf(one)}: ${t(causeText(one.cause))}`)),
          ),
      h("h3", {}, t("importsOfDay")),
      imports.length === 0
        ? h("p", { class: "hint" }, t("noneNow"))
        : h(
            "ul",
            { class: "checks" },
            ...imports.map((one) =>
              h(
                "li",
                { class: "check" },
                h(
                  "div",
                  {},
                  h("strong", {}, nameOf(one)),
                  h(
                    "small",
                    {},
                    `${t(stateTexts[one.state])} · ${t("nRows", { n: one.rows })} · ${one.login} · ${time(one.created)}`,
                  ),
                ),
              ),
            ),
          ),
    ];
  };

  return {
    tab: "state",
    render: () => [
      h(
        "div",
        { class: "people-top" },
        h("p", { class: "hint" }, isLooking ? t("isChecking") : t("stateIntro")),
        button(
          { class: "button", "data-key": "again", disabled: isLooking },
          () => frame.go(stateView(frame)),
          t("lookAgain"),
        ),
      ),
      ...(state ? shown(state) : []),
    ],
  };
}

const causeText = (cause: string): TextKey => {
  if (cause === "overrun") return "causeSlow";
  if (cause === "source") return "causeSource";
  if (cause === "style") return "causeStyle";
  return "causeOther";
};
