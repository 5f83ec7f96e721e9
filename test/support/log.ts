import { createLog, type Log } from "../../src/log.js";

/** A log without output. */
export const quietLog: Log = createLog("silent", "test");
