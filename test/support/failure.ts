import type { FailureKind } from "../../src/errors.js";

/** The expected error for `t.throws` and `t.rejects`, which compares only the kind of a failure. */
export const failure = (kind: FailureKind): Error => ({ kind }) as unknown as Error;
