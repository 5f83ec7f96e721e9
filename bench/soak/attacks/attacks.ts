import type { Attack } from "./attack.js";
import { bodies } from "./bodies.js";
import { project } from "./project.js";
import { reads } from "./reads.js";
import { tiles } from "./tiles.js";

/** All kinds of hostile clients. */
export const attacks: readonly Attack[] = [...bodies, ...tiles, ...reads, ...project];
