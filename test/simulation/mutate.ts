import { register } from "node:module";

/** Loaded before the simulation (`--import`): applies the mutant that the environment has as `mutatedModule` made it. */
const { MUTANT = "" } = process.env;
register("./mutate-hooks.js", import.meta.url, { data: JSON.parse(MUTANT) });
