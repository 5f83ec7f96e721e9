import { testExamples } from "./page-examples.support.js";

/** The examples of the how-to pages on the look of a map, its columns and its objects. */

await testExamples("look");
