import { failed } from "../../errors.js";
import { type Parameter, text } from "./schema/parameters.js";

/** Parameters that every request below a project may carry. */

/**
 * `f`, of those that an operation knows. Else invalid_format: who asks for a document is not served with something else.
 */
export const formParameter = <const Form extends "fjson" | "pdf">(
  description: string,
  forms: readonly Form[],
): Parameter<"json" | Form> => ({
  description,
  schema: { enum: ["json", ...forms], default: "json" },
  read: (given, name) => {
    if (!given || given === "json") return "json";
    const form = forms.find((one) => one === given);
    if (form) return form;
    throw failed("invalid_format", `${name} must be ${["json", ...forms].join(" or ")} here.`);
  },
});

export const commonParameters = {
  lng: text("Language of names; default: the main language of the map."),
  f: formParameter("Form of the answer; `fjson` differs where there are values with formats.", ["fjson"]),
};
