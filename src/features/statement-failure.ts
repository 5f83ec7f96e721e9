import { busy, causedBy, failed } from "../errors.js";

/** Errors of PostgreSQL that what is saved causes, or a change of the layer's columns in the same moment. */

/** A statement that was made for columns which have just changed. */
const outdated = new Set([
  "42703", // undefined_column
  "42804", // datatype_mismatch
  "42846", // cannot_coerce
  "42883", // undefined_function: an operator that the new type lacks
]);

/** @throws Failure busy, with the error as its cause; the error itself when it is another */
export function readFailed(error: unknown): never {
  if (!outdated.has(String((error as { code?: unknown }).code))) throw error;
  throw causedBy(busy("The layer's columns were just changed."), error);
}

/** @throws Failure invalid_value, busy; the error itself when it is another */
export function saveFailed(error: unknown): never {
  // 54000 program_limit_exceeded: a row is larger than a page
  if ((error as { code?: unknown }).code === "54000")
    throw failed("invalid_value", "The object has more data than one row can hold.");
  readFailed(error);
}
