import { register } from "node:module";

/** Loaded before the simulation: puts the mutant of the environment in the place of what it is made from. */
register("./mutate-hooks.js", import.meta.url, { data: { number: Number(process.env.MUTANT) } });
