import { App, us_socket_local_port } from "uWebSockets.js";
import pg from "pg";
import { answerParent } from "../child.js";

/**
 * What a good handler without a product around it does for an answer that is in the database: one statement, prepared
 * on each connection of a pool, whose only value PostgreSQL has written as JSON already, so that it is passed on as
 * it came. (Rows of columns made JSON here would cost this process more.)
 */

export interface BareQueryRequest {
  readonly databaseUrl: string;
  /** Connections of the pool: as many as the product's. */
  readonly connections: number;
  /** Gives one row with the answer as `o`. */
  readonly statement: string;
  /** Values of the statement, those of one request after those of another. */
  readonly values: readonly (readonly unknown[])[];
}

let asked: BareQueryRequest | undefined;
let pool: pg.Pool | undefined;
let next = 0;
const app = App();
app.get("/*", (response) => {
  let left = false;
  response.onAborted(() => {
    left = true;
  });
  const { statement, values } = asked!;
  const query = { name: "answer", text: statement, values: [...values[next++ % values.length]!] };
  pool!.query<{ o: string }>(query).then(
    ({ rows }) => {
      if (left) return;
      response.cork(() => {
        response.writeHeader("content-type", "application/json; charset=utf-8").end(rows[0]!.o);
      });
    },
    () => {
      if (!left) response.cork(() => response.writeStatus("500 Internal Server Error").end());
    },
  );
});

answerParent<BareQueryRequest, { readonly port: number }>(
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
