import { testExamples } from "./page-examples.support.js";

/** The examples of the how-to pages on users, and on what they see. */

await testExamples("users");
