/** Addresses of S3 stores: `s3://bucket/prefix`. */

export interface BlobAddress {
  readonly bucket: string;
  /** What all keys begin with: nothing, or a path that ends with a slash. */
  readonly prefix: string;
}

const form = 's3://bucket/prefix, such as "s3://maps-example/files"';
const bucketName = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const segment = /^[A-Za-z0-9_.-]{1,200}$/;
const longestPrefix = 500;

/** What is wrong with an address, as the end of the sentence "expected …"; undefined = nothing. It never shows the address. */
export function problemOfBlobAddress(text: string): string | undefined {
  if (/^https?:/i.test(text))
    return `${form}: the address of a store that is not Amazon's is the variable AWS_ENDPOINT_URL`;
  if (!text.startsWith("s3://")) return `${form}, or nothing for the folder \`files\` in dataDir`;
  const [bucket = "", ...segments] = parts(text);
  if (text.includes("@"))
    return `${form}: keys are the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`;
  if (/[?#]/.test(text)) return `${form}: the region is the variable AWS_REGION`;
  if (bucket.includes(":"))
    return `${form}: the address of a store that is not Amazon's is the variable AWS_ENDPOINT_URL`;
  if (!bucketName.test(bucket) || bucket.includes(".."))
    return `${form}: a bucket's name has 3 to 63 small letters, digits, hyphens and dots`;
  if (segments.some((part) => !segment.test(part) || part === "." || part === ".."))
    return `${form}: a prefix has letters, digits, hyphens, underscores and dots between single slashes`;
  return segments.join("/").length > longestPrefix
    ? `${form}: a prefix of at most ${longestPrefix} characters`
    : undefined;
}

/** Of an address without problems. */
export function parseBlobAddress(text: string): BlobAddress {
  const [bucket = "", ...segments] = parts(text);
  return { bucket, prefix: segments.map((part) => `${part}/`).join("") };
}

const parts = (text: string): string[] => text.slice("s3://".length).replace(/\/$/, "").split("/");

/** What is wrong with the address of a store's server, as the end of the sentence "expected …"; undefined = nothing. */
export function problemOfEndpoint(text: string): string | undefined {
  const expected = "an address such as https://s3.example.org or http://127.0.0.1:9000";
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return expected;
  if (url.username !== "" || url.password !== "")
    return `${expected}: keys are the variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`;
  return url.search === "" && url.hash === "" ? undefined : expected;
}
