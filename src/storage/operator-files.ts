import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { MirroredFolder } from "./mirrored-folder.js";
import { FolderFiles, type NamedFiles } from "./named-files.js";
import { placeOf, s3Options } from "./open-blobs.js";

/** Files that the operator of an installation gives it: icons of its own, and keys of issuers of tokens. */

export const operatorFolders = ["icons", "keys"] as const;
export type OperatorFolder = (typeof operatorFolders)[number];

type Settings = Pick<Config, "dataDir" | "external" | "blobs" | "blobCopyBytes">;

/** Where such a folder is on this machine. */
const ownFolderOf = (
  { dataDir, external }: Pick<Settings, "dataDir" | "external">,
  name: OperatorFolder,
): string => (name === "keys" && external.keysDir !== "" ? external.keysDir : join(dataDir, name));

/** Whether they lie in the S3 store, beside the blobs: a folder of this machine goes before that. */
const areInStore = (settings: Settings, name: OperatorFolder): boolean =>
  placeOf(settings) === "bucket" &&
  !(name === "keys" && settings.external.keysDir !== "") &&
  !existsSync(ownFolderOf(settings, name));

/** The files of such a folder, wherever they lie. */
export async function operatorFiles(settings: Settings, name: OperatorFolder): Promise<NamedFiles> {
  if (!areInStore(settings, name)) return new FolderFiles(ownFolderOf(settings, name));
  const { S3NamedFiles } = await import("./s3-named-files.js");
  const { address, aws } = s3Options(settings);
  return new S3NamedFiles({ aws, address: { ...address, prefix: `${address.prefix}${name}/` } });
}

export interface LocalFolder {
  readonly path: string;
  stop(): Promise<void>;
}

/** Such a folder as one of this machine, which is kept as it is in the store if it lies there. */
export async function localOperatorFolder(
  settings: Settings,
  name: OperatorFolder,
  log: Log,
): Promise<LocalFolder> {
  if (!areInStore(settings, name))
    return { path: ownFolderOf(settings, name), stop: () => Promise.resolve() };
  const files = await operatorFiles(settings, name);
  return MirroredFolder.open({ files, parent: join(settings.dataDir, "store-copies", name), log });
}
