import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DeleteObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import t from "tap";
import { freshDatabase } from "../support/database.js";
import { testRedisUrl } from "../support/redis.js";
import { S3Link } from "../support/s3-link.js";
import { startS3, swift, useS3 } from "../support/s3-servers.js";
import { runCommand } from "./support.js";

/** What the commands say of files in an S3 store. */

const server = await startS3(t, swift);
const link = await S3Link.to(server.url);
t.teardown(() => link.close());
const reachable = { ...server, url: link.url };

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly found: string;
  readonly advice?: string;
}

t.test("doctor says whether the store can be written and read, and what to do if not", async (t) => {
  const database = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "mapwright-data-"));
  t.teardown(async () => {
    await database.drop();
    await rm(dataDir, { recursive: true });
  });
  const bucket = await server.bucket();
  const doctor = async (blobs: string) => {
    const variables = {
      DATABASE_URL: database.url,
      REDIS_URL: testRedisUrl(),
      MAPWRIGHT_DATA_DIR: dataDir,
      MAPWRIGHT_BLOBS: blobs,
    };
    const { status, stdout } = await runCommand(["doctor", "--json"], { variables });
    t.notOk(stdout.includes(server.secret));
    const checks = JSON.parse(stdout) as Check[];
    return { status, of: (name: string) => checks.find((check) => check.name === name) };
  };
  const blobs = `s3://${bucket}/maps`;
  useS3(reachable);
  link.set();
  const fine = await doctor(blobs);
  t.equal(fine.status, 0);
  t.match(fine.of("S3 store"), { ok: true, found: /can be written and read/ });
  t.match(fine.of("files"), { ok: true });
  t.same(await server.contents(bucket), { objects: [], parts: [] }, "nothing is left of what it has tried");

  const { client } = server;
  const place = { Bucket: bucket, Key: "maps/installation" };
  await client.send(new PutObjectCommand({ ...place, Body: "11111111-1111-4111-8111-111111111111" }));
  const foreign = await doctor(blobs);
  t.match(foreign.of("files"), { ok: false, found: /bucket.*another installation/, advice: /set blobs/ });
  await client.send(new DeleteObjectCommand(place));

  const absent = await doctor("s3://no-such-bucket");
  t.equal(absent.status, 1);
  t.match(absent.of("S3 store"), { ok: false, found: /NoSuchBucket/, advice: /create the bucket/ });
  useS3({ ...reachable, secret: "wrong-secret" });
  const refused = await doctor(blobs);
  t.match(refused.of("S3 store"), {
    ok: false,
    found: /cannot be reached.*403/,
    advice: /AWS_SECRET_ACCESS_KEY/,
  });
  useS3({ ...reachable, url: "http://127.0.0.1:1" });
  const away = await doctor(blobs);
  t.match(away.of("S3 store"), { ok: false, found: /ECONNREFUSED/, advice: /AWS_ENDPOINT_URL/ });
  useS3(reachable);
  link.set({ silent: true });
  const silent = await doctor(blobs);
  t.match(silent.of("S3 store"), { ok: false, found: /timed out|not answered/ });
});

t.test("an address that is none is refused with a hint, and not shown", async (t) => {
  useS3(reachable);
  const check = (blobs: string, more: Readonly<Record<string, string>> = {}) =>
    runCommand(["config", "check"], { variables: { MAPWRIGHT_BLOBS: blobs, ...more } });
  for (const blobs of ["s3://bucket", "s3://bucket/", "s3://my.bucket/a/b_c-d.e/"])
    t.equal((await check(blobs)).status, 0, blobs);
  for (const [blobs, hint] of [
    ["https://s3.example.org/bucket", /AWS_ENDPOINT_URL/],
    ["s3://127.0.0.1:9000/bucket", /AWS_ENDPOINT_URL/],
    ["s3://AKIA:verysecret@bucket/maps", /AWS_SECRET_ACCESS_KEY/],
    ["s3://bucket/maps?region=eu", /AWS_REGION/],
    ["/var/lib/files", /dataDir/],
    ["gs://bucket", /s3:\/\/bucket\/prefix/],
    ["s3://", /3 to 63/],
    ["s3://Bucket/a", /small letters/],
    ["s3://bucket/a//b", /single slashes/],
    ["s3://bucket/../b", /single slashes|prefix/],
    ["s3://bucket/a b", /prefix has letters/],
    [`s3://bucket/${"a/".repeat(300)}`, /at most 500/],
  ] as const) {
    const { status, stderr } = await check(blobs);
    t.equal(status, 1, blobs);
    t.match(stderr, /MAPWRIGHT_BLOBS/);
    t.match(stderr, hint, blobs);
    t.notOk(stderr.includes("verysecret"));
  }
  for (const endpoint of ["s3.example.org", "ftp://s3.example.org", "https://a:verysecret@s3.example.org"]) {
    const { status, stderr } = await check("s3://bucket", { AWS_ENDPOINT_URL: endpoint });
    t.equal(status, 1, endpoint);
    t.match(stderr, /AWS_ENDPOINT_URL: expected an address such as/);
    t.notOk(stderr.includes("verysecret"));
  }
  t.equal((await check("", { AWS_ENDPOINT_URL: "nothing of ours" })).status, 0);
});
