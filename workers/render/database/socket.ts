import { join } from "node:path";

/** The number in the name of the socket that Mapnik looks for the database at. */
export const socketPort = 5432;

/** Named as libpq looks for it. */
export const socketPath = (folder: string): string => join(folder, `.s.PGSQL.${socketPort}`);
