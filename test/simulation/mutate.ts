import { register } from "node:module";

/** Loaded before the simulation (`--import`): applies the mutant with the number in the environment variable MUTANT. */
register("./mutate-hooks.js", import.meta.url, { data: { number: Number(process.env.MUTANT) } });
