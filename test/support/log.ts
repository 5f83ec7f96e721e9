import { createLog, type Log } from "../../src/log.js";

/** A log that says nothing. */
export const quietLog: Log = createLog("silent", "test");
