import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/**
 * A copy of this program that is a version newer: its schema has one step more, which only adds to what all versions read, and
 * another text of a function that every edit runs.
 */

const step = `-- expands
alter table project add column of_later text not null default 'x';
alter table map add column of_later text not null default 'x';
alter table node add column of_later text not null default 'x';
alter table layer add column of_later text not null default 'x';
alter table layer_column add column of_later text;
create table of_later (id bigint primary key, text text);
`;

/** @returns its folder, to be removed */
export function makeNewer(): string {
  const folder = mkdtempSync(join(tmpdir(), "mapwright-newer-version-"));
  const link = (from: string, to: string, except: string) => {
    for (const name of readdirSync(from))
      if (name !== except && name !== ".git") symlinkSync(resolve(from, name), join(to, name));
  };
  link(".", folder, "dist");
  mkdirSync(join(folder, "dist"));
  link("dist", join(folder, "dist"), "src");
  cpSync("dist/src", join(folder, "dist/src"), { recursive: true });
  const storage = join(folder, "dist/src/storage");
  writeFileSync(join(storage, "migrations/999_of_later.sql"), step);
  appendFileSync(join(storage, "functions/changes/layer_touched.sql"), "-- As the newer version has it.\n");
  return folder;
}
