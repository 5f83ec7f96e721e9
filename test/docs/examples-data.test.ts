import { testExamples } from "./page-examples.support.js";

/** The examples of the how-to pages on data that go in and out. */

await testExamples("data");
