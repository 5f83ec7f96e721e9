import { join } from "node:path";
import type { BlobStore } from "./blob-store.js";
import { FolderBlobStore } from "./folder-blob-store.js";

/** The store that an installation keeps its blobs in. */
export const openBlobs = ({ dataDir }: { readonly dataDir: string }): BlobStore =>
  new FolderBlobStore(join(dataDir, "files"));
