import type { FailureKind } from "../../src/errors.js";

/** What `t.throws` and `t.rejects` compare a failure with: its kind alone. */
export const failure = (kind: FailureKind): Error => ({ kind }) as unknown as Error;
