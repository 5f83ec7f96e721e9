import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import t, { type Test } from "tap";
import { S3BlobStore } from "../../src/storage/s3-blob-store.js";
import { type S3Server, s3rver, startS3, swift, useS3 } from "../support/s3-servers.js";
import { checkBlobStore } from "./blobs.support.js";

/** S3 stores of two makers as stores for blobs. */

const prefix = "some/where/";

async function openStore(t: Test, server: S3Server) {
  const base = await mkdtemp(join(tmpdir(), "mapwright-blobs-"));
  const temporary = join(base, "tmp");
  await mkdir(temporary);
  const bucket = await server.bucket();
  const store = new S3BlobStore({
    address: { bucket, prefix },
    aws: { endpoint: server.url, region: "us-east-1" },
    copies: { folder: join(base, "copies"), bytes: 10_000_000 },
    // The large blobs of the cases are sent in several parts, and those set aside copied so where the server can.
    partBytes: 300_000,
    copyPartBytes: server.listsParts ? 400 : undefined,
  });
  t.teardown(async () => {
    store.close();
    await rm(base, { recursive: true, force: true });
  });
  return {
    store,
    temporary,
    rounds: 8,
    // This server sends one byte of what has none, and then nothing.
    knowsEmpty: server.name !== "s3rver",
    async held() {
      const connections = () =>
        process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
      // A connection that has done its work is free a moment later.
      for (let round = 0; round < 400 && connections() > 0; round++) await sleep(2);
      return connections();
    },
    async contents() {
      const { objects, parts } = await server.contents(bucket);
      return [...objects, ...parts].map((name) => name.slice(name.lastIndexOf("/") + 1));
    },
  };
}

for (const kind of [swift, s3rver])
  t.test(kind.name, async (t) => {
    const server = await startS3(t, kind);
    useS3(server);
    checkBlobStore(t, (t) => openStore(t, server));
  });
