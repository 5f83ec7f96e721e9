import type { PeopleEvents, PeopleOf, PeopleParts } from "../people-parts.js";
import { Frame, type View } from "./frame.js";
import { keysView } from "./keys-list.js";
import { peopleListView } from "./people-list.js";
import { PeopleStore } from "./people-store.js";

/** Opens the dialog for the people and keys of a project. */
export function openPeople(parts: PeopleParts, of: PeopleOf, events: PeopleEvents): void {
  const store = new PeopleStore(parts, of);
  let hasGivenUp = false;
  const giveUp = () => {
    hasGivenUp = true;
    frame.dialog.close();
  };
  const people = (place = of.place): View => peopleListView(frame, { giveUp }, place);
  const frame: Frame = new Frame(
    parts,
    store,
    (tab): View => (tab === "people" ? people({}) : keysView(frame)),
  );
  frame.dialog.addEventListener("close", () => {
    events.closed();
    if (hasGivenUp) events.ownRightsChanged();
  });
  store.load().then(
    () => {
      if (frame.isOpen) frame.go(people());
    },
    (error: unknown) => frame.tell(error),
  );
}
