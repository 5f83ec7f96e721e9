import { busy, failed } from "../errors.js";

/**
 * Errors of PostgreSQL that what is saved causes, or a change of the layer's columns in the same moment.
 * @throws Failure invalid_value, busy; the error itself when it is another
 */
export function saveFailed(error: unknown): never {
  switch ((error as { code?: string }).code) {
    case "54000": // program_limit_exceeded: a row is larger than a page
      throw failed("invalid_value", "The object has more data than one row can hold.");
    case "42703": // undefined_column
    case "42804": // datatype_mismatch
      throw busy("The layer's columns were just changed.");
    default:
      throw error;
  }
}
