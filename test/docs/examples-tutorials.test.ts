import { testExamples } from "./page-examples.support.js";

/** The examples of the tutorials. */

await testExamples("tutorials");
