import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import type { Test } from "tap";
import { hushAws } from "../../src/config.js";

/** S3 servers of two makers, each in a process of its own. */

export interface S3Server {
  readonly name: string;
  readonly url: string;
  readonly key: string;
  readonly secret: string;
  /** Whether it has parts of objects that nobody completed, and tells which. */
  readonly listsParts: boolean;
  /** To look into it without us. */
  readonly client: S3Client;
  /** Makes a bucket. @returns its name */
  bucket(): Promise<string>;
  /** Names of all objects of a bucket, and of those whose parts are there only. */
  contents(bucket: string): Promise<{ readonly objects: string[]; readonly parts: string[] }>;
  stop(): Promise<void>;
}

interface Kind {
  readonly name: string;
  readonly key: string;
  readonly secret: string;
  readonly listsParts: boolean;
  readonly command: (folder: string, port: number) => readonly [string, readonly string[]];
}

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** OpenStack Swift, as Debian has it. */
export const swift: Kind = {
  name: "Swift",
  key: "test:user",
  secret: "testing",
  listsParts: true,
  // Debian's own: others do not find its modules.
  command: (folder, port) => [
    "/usr/bin/python3",
    [join(root, "test/support/swift-s3.py"), folder, String(port)],
  ],
};

export const s3rver: Kind = {
  name: "s3rver",
  key: "S3RVER",
  secret: "S3RVER",
  listsParts: false,
  command: (folder, port) => [
    process.execPath,
    [
      join(root, "node_modules/s3rver/bin/s3rver.js"),
      ...["--directory", folder, "--address", "127.0.0.1", "--port", String(port), "--silent"],
    ],
  ],
};

let buckets = 0;

/** Starts a server, which ends with the test, and sets Amazon's variables so that stores find it. */
export async function startS3(t: Test, kind: Kind): Promise<S3Server> {
  const { name, key, secret, listsParts } = kind;
  const base = await mkdtemp(join(tmpdir(), "mapwright-s3-"));
  const folder = join(base, "store");
  await mkdir(folder);
  const port = await freePort();
  const [program, args] = kind.command(folder, port);
  const child = spawn(program, args, { stdio: ["pipe", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (text) => {
    said = `${said}${text}`.slice(-4_000);
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await rm(base, { recursive: true, force: true });
  };
  t.teardown(stop);
  const url = `http://127.0.0.1:${port}`;
  await answering(port, () => {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${said}`);
  });
  hushAws();
  const credentials = { accessKeyId: key, secretAccessKey: secret };
  const client = new S3Client({ endpoint: url, region: "us-east-1", forcePathStyle: true, credentials });
  t.teardown(() => client.destroy());
  return {
    ...{ name, url, key, secret, listsParts, client, stop },
    bucket: async () => {
      const Bucket = `bucket-${++buckets}`;
      await client.send(new CreateBucketCommand({ Bucket }));
      return Bucket;
    },
    contents: async (Bucket) => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
      const { Uploads = [] } = listsParts
        ? await client.send(new ListMultipartUploadsCommand({ Bucket }))
        : {};
      return { objects: Contents.map(({ Key }) => Key!), parts: Uploads.map(({ Key }) => Key!) };
    },
  };
}

/** Sets Amazon's variables, as whoever starts a server does. @param url of a link to the server; default: its own */
export function useS3({ url, key, secret }: Pick<S3Server, "url" | "key" | "secret">): void {
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: url,
    AWS_ACCESS_KEY_ID: key,
    AWS_SECRET_ACCESS_KEY: secret,
    AWS_REGION: "us-east-1",
  });
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

async function answering(port: number, check: () => void): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; ) {
    check();
    const socket = net.connect(port, "127.0.0.1");
    const isThere = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("The S3 server does not listen.");
}
