import { testExamples } from "./page-examples.support.js";

/** The examples of the pages on setting a server up, and on keeping what it has. */

await testExamples("set-up");
