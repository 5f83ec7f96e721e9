import type { Mutant } from "../simulation/mutants.js";

/** Faults in a line of the console that the sessions must find. */

const objects = "viewer/browser/console/objects";

export const mutants: readonly Mutant[] = [
  {
    name: "a change is sent without the version that it was made of",
    file: "viewer/browser/console/operations",
    replace: [['...(match !== undefined && { "if-match": match }),', ""]],
  },
  {
    name: "what both have changed is merged without asking",
    file: `${objects}/open-object`,
    replace: [['result.conflicts.length > 0 ? await ask(result.conflicts) : "mine"', '"mine"']],
  },
  {
    name: "a draft is not kept",
    file: `${objects}/open-object`,
    replace: [["else if (!this.drafts.put(draft)) this.unkept();", ""]],
  },
  {
    name: "each try has another key",
    file: `${objects}/open-object`,
    replace: [["const sent = before ?? {", "const sent = {"]],
  },
  {
    name: "somebody is asked about all that both have not set alike",
    file: `${objects}/merge`,
    replace: [["if (!isSame(base.fields[code], now)) conflicts.push", "conflicts.push"]],
  },
  {
    name: "somebody is asked about what both have set alike",
    first: 160,
    file: `${objects}/merge`,
    replace: [["if (isSame(value, now)) continue;", ""]],
  },
  {
    name: "who yields overwrites all the same",
    file: `${objects}/open-object`,
    replace: [['decision === "mine" ? result.change : yielding(result)', "result.change"]],
  },
  {
    name: "what others have set is taken as the base of what was written before",
    file: `${objects}/merge`,
    replace: [["etag: conflicts.length > 0 ? base.etag : etag", "etag"]],
  },
  {
    name: "what is drawn while it is saved is forgotten",
    file: `${objects}/open-object`,
    replace: [["changedSince(base, { fields: {} }, rest)", "{ fields: {} }"]],
  },
];
