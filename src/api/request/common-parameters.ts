import { failed } from "../../errors.js";
import { choice, text } from "./schema/parameters.js";
import type { Refuse } from "./schema/schema.js";

/** Parameters that every request below a project may carry. */

export const invalidFormat: Refuse = (name, what) => failed("invalid_format", `${name} ${what}.`);

/**
 * `f`, of those that an operation knows. Else invalid_format: who asks for a document is not served with something else.
 */
export const formParameter = <const Form extends "fjson" | "pdf">(
  description: string,
  forms: readonly Form[],
) =>
  choice<"json" | Form>(description, ["json", ...forms], {
    what: `must be ${["json", ...forms].join(" or ")} here`,
    refuse: invalidFormat,
  });

export const commonParameters = {
  lng: text("Language of names; default: the main language of the map.").optional(),
  f: formParameter("Form of the answer; `fjson` differs where there are values with formats.", ["fjson"]),
};
