import { testExamples } from "./page-examples.support.js";

/** The examples of the pages on a server that grows, and on watching it. */

await testExamples("growth");
