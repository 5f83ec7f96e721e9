import type { Toasts } from "../toasts.js";
import { loadStyles } from "./late-styles.js";
import type { PeopleEvents, PeopleOf, PeopleParts } from "./people-parts.js";

/** People and keys of a project. What shows them is loaded when it is first opened. */
export class PeopleOpening {
  private isOpening = false;

  constructor(
    private readonly parts: PeopleParts & { readonly toasts: Toasts },
    private readonly events: PeopleEvents,
  ) {}

  async open(of: PeopleOf): Promise<void> {
    if (this.isOpening) return;
    this.isOpening = true;
    try {
      const styled = loadStyles("people");
      const { openPeople } = await import("./people/people.js");
      await styled;
      openPeople(this.parts, of, this.events);
    } catch {
      this.parts.toasts.show(this.parts.locale.t("toolFailed"), "bad");
    } finally {
      this.isOpening = false;
    }
  }
}
