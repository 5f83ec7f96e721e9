import { join } from "node:path";
import { parseBlobAddress } from "../blob-address.js";
import { awsSettings, type Config } from "../config.js";
import type { BlobStore } from "./blob-store.js";
import { FolderBlobStore } from "./folder-blob-store.js";
import type { S3StoreOptions } from "./s3-blob-store.js";
import type { BriefOptions } from "./s3-brief.js";

export type BlobSettings = Pick<Config, "dataDir" | "blobs" | "blobCopyBytes">;

/** The store that an installation keeps its blobs in. @param patience with an S3 store; default: that of viewers */
export async function openBlobs(settings: BlobSettings, patience: BriefOptions = {}): Promise<BlobStore> {
  if (settings.blobs === "") return new FolderBlobStore(join(settings.dataDir, "files"));
  // Amazon's client takes a tenth of a second to load.
  const { S3BlobStore } = await import("./s3-blob-store.js");
  return new S3BlobStore({ ...s3Options(settings), ...patience });
}

export const s3Options = ({ dataDir, blobs, blobCopyBytes }: BlobSettings): S3StoreOptions => ({
  address: parseBlobAddress(blobs),
  aws: awsSettings(),
  copies: { folder: join(dataDir, "blob-copies"), bytes: blobCopyBytes },
});

/** Where that store is. */
export const placeOf = ({ blobs }: Pick<Config, "blobs">): "folder" | "bucket" =>
  blobs === "" ? "folder" : "bucket";
