import { App, us_socket_local_port } from "uWebSockets.js";
import { gzipSync } from "node:zlib";
import pg from "pg";
import { answerParent } from "../child.js";

/**
 * What a good handler without a product around it does for a vector tile: one statement with ST_AsMVT over the layers'
 * tables, prepared on each connection of a pool. It compresses for clients that ask for that, and keeps nothing.
 */

export interface BareMvtRequest {
  readonly databaseUrl: string;
  /** Connections of the pool: as many as the product takes for vector tiles. */
  readonly connections: number;
  /** Gives one row with the tile as `tile`; `$1`, `$2` and `$3` are z, x and y (XYZ). */
  readonly statement: string;
}

let asked: BareMvtRequest | undefined;
let pool: pg.Pool | undefined;
const app = App();
app.get("/:z/:x/:y", (response, request) => {
  const values = [0, 1, 2].map((index) => Number.parseInt(request.getParameter(index)!, 10));
  const compresses = request.getHeader("accept-encoding") === "gzip";
  let left = false;
  response.onAborted(() => {
    left = true;
  });
  pool!.query<{ tile: Buffer }>({ name: "tile", text: asked!.statement, values }).then(
    ({ rows }) => {
      if (left) return;
      response.cork(() => {
        response.writeHeader("content-type", "application/vnd.mapbox-vector-tile");
        if (compresses) response.writeHeader("content-encoding", "gzip");
        response.end(compresses ? gzipSync(rows[0]!.tile, { level: 1 }) : rows[0]!.tile);
      });
    },
    () => {
      if (!left) response.cork(() => response.writeStatus("500 Internal Server Error").end());
    },
  );
});

answerParent<BareMvtRequest, { readonly port: number }>(
  (request) =>
    new Promise((resolve, reject) => {
      asked = request;
      pool = new pg.Pool({
        connectionString: request.databaseUrl,
        max: request.connections,
        // As the product's sessions.
        options: "-c search_path=mapwright,public -c jit=off -c timezone=UTC",
      });
      app.listen("127.0.0.1", 0, (socket) => {
        if (socket) resolve({ port: us_socket_local_port(socket) });
        else reject(new Error("no port"));
      });
    }),
);
