import { App, us_socket_local_port } from "uWebSockets.js";
import { Redis } from "ioredis";
import { answerParent } from "../child.js";

/** The least that an HTTP server can do for a value in Redis: one `getBuffer`, and it ends with what that gives. */

export interface BareRedisRequest {
  readonly redisUrl: string;
  readonly keys: readonly string[];
}

let redis: Redis | undefined;
let keys: readonly string[] = [];
let next = 0;
const app = App();
app.get("/*", (response) => {
  let left = false;
  response.onAborted(() => {
    left = true;
  });
  void redis?.getBuffer(keys[next++ % keys.length]!).then((value) => {
    if (!left) response.cork(() => response.end((value as Uint8Array<ArrayBuffer> | null) ?? ""));
  });
});

answerParent<BareRedisRequest, { readonly port: number }>(
  (request) =>
    new Promise((resolve, reject) => {
      redis = new Redis(request.redisUrl);
      keys = request.keys;
      app.listen("127.0.0.1", 0, (socket) => {
        if (socket) resolve({ port: us_socket_local_port(socket) });
        else reject(new Error("no port"));
      });
    }),
);
