import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** What a proxy knows of a node, with its health as a test has it, and what it was asked. */
export class Node {
  isReady = true;
  readonly asked: IncomingMessage[] = [];
  /** Of its answers. */
  headers: Record<string, string> = {};
  private readonly server = createServer((request, response) => {
    const { url = "" } = request;
    if (url === "/health/ready") response.writeHead(this.isReady ? 200 : 503).end();
    else if (url === "/health/live") response.writeHead(200).end();
    else {
      this.asked.push(request);
      if (url.endsWith("/changes/")) response.writeHead(200).write("id: 1\n\n");
      else response.writeHead(200, { ...this.headers }).end("{}");
    }
  });

  /** @param port the default is one that is free */
  async start(port = 0): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    return this;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
