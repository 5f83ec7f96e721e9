import { failed } from "../../errors.js";
import { choice, text } from "./schema/parameters.js";
import type { Refuse } from "./schema/schema.js";

/** Query parameters that all operations below a project accept. */

export const invalidFormat: Refuse = (name, what) => failed("invalid_format", `${name} ${what}.`);

/** The parameter `f`, limited to the formats of an operation. Any other value is refused with invalid_format. */
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
  f: formParameter(
    "Format of the response; `fjson` returns values formatted as text where columns have a format.",
    ["fjson"],
  ),
};
