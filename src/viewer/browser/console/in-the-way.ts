import { h } from "../dom.js";
import type { Stage } from "../stage.js";
import type { Translate } from "../texts.js";
import { problemOf } from "./problem.js";
import type { SignIns } from "./sign-ins.js";
import type { Workplace } from "./workplace.js";

/** What is said in place of a map: that one has to sign in, may not edit, or that something failed. */
export class InTheWay {
  constructor(
    private readonly parts: {
      readonly stage: Stage;
      readonly place: Workplace;
      readonly signIns: SignIns;
      readonly t: Translate;
    },
    private readonly events: { signIn(): void; home(): void },
  ) {}

  /** Nobody is signed in, or somebody who may not edit. */
  showRefusal(): void {
    const { stage, signIns, t } = this.parts;
    const isSignedIn = signIns.login !== undefined;
    stage.message({
      icon: "lock",
      title: t(isSignedIn ? "consoleForbidden" : "consoleTitle"),
      text: t(isSignedIn ? "consoleForbiddenHint" : "consoleSignIn"),
      actions: [{ label: t("signIn"), isMain: true, press: () => this.events.signIn() }],
      link: h("a", { href: "./" }, t("openViewer")),
    });
  }

  showFailure(error: unknown, retry: () => void): void {
    const { stage, place, t } = this.parts;
    const { text } = problemOf(error, t);
    const actions = [
      { label: t("retry"), isMain: true, press: retry },
      ...(place.mayEdit(undefined) ? [{ label: t("maps"), press: () => this.events.home() }] : []),
    ];
    stage.message({ icon: "alert", title: t("failedTitle"), text, actions });
  }
}
