import { App, us_socket_local_port } from "uWebSockets.js";
import { answerParent } from "../child.js";

/** The least that an HTTP server can do for an address: it ends with the same bytes, or with none at all. */

export interface BareRequest {
  /** Absent: the answer is empty. */
  readonly body?: Uint8Array;
}

let body: Uint8Array | undefined;
const app = App();
app.get("/bytes/*", (response) => {
  response.end(body as Uint8Array<ArrayBuffer>);
});
app.get("/empty/*", (response) => {
  response.end();
});

answerParent<BareRequest, { readonly port: number }>(
  (request) =>
    new Promise((resolve, reject) => {
      body = request.body;
      app.listen("127.0.0.1", 0, (socket) => {
        if (socket) resolve({ port: us_socket_local_port(socket) });
        else reject(new Error("no port"));
      });
    }),
);
