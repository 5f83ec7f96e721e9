import { busy, causedBy, failed } from "../errors.js";

/** Translates PostgreSQL errors that saved data or a concurrent change of the layer's columns causes. */

/** SQLSTATEs of a statement whose columns were changed or deleted in the meantime. */
const columnErrors = new Set([
  "42703", // undefined_column
  "42804", // datatype_mismatch
  "42846", // cannot_coerce
  "42883", // undefined_function: an operator that the new type lacks
]);

/** @throws Failure busy when the columns have changed; else the error itself */
export function readFailed(error: unknown): never {
  if (!columnErrors.has(String((error as { code?: unknown }).code))) throw error;
  throw causedBy(busy("The layer's columns were just changed."), error);
}

/** @throws Failure invalid_value when the row is too large, busy when the columns have changed; else the error itself */
export function saveFailed(error: unknown): never {
  // 54000 program_limit_exceeded: a row is larger than a page
  if ((error as { code?: unknown }).code === "54000")
    throw failed("invalid_value", "The object has more data than one row can hold.");
  readFailed(error);
}
