import { isUnique } from "./editor.js";
import type { Write } from "./link.js";
import { type Memory, textOf } from "./memory.js";
import type { Layer } from "./place.js";
import type { Entry, Records } from "./records.js";

/** Whether the objects and their history are what the editors meant. */

export interface Audited {
  readonly records: Records;
  readonly layer: Layer;
  /** With which the marks of its objects begin. */
  readonly prefix: string;
  /** The last entry of the history before. */
  readonly since: number;
  /** How often an object with a mark was made. */
  readonly made: ReadonlyMap<string, number>;
  readonly editors: readonly Meant[];
}
interface Meant {
  readonly login: string;
  readonly memories: readonly Memory[];
  readonly writes: readonly Write[];
}

const fields = ["mark", "note", "height", "title", "geom"] as const;
type Values = Map<string, string>;

/** What became of an object, the oldest first. */
interface Life {
  readonly id: number;
  readonly turns: readonly Turn[];
  readonly end: Values | undefined;
}
/** An entry of its history, with all values before and after it; undefined = there was no object. */
interface Turn {
  readonly entry: Entry;
  readonly before: Values | undefined;
  readonly after: Values | undefined;
}

/** @returns what must not be */
export async function audit(of: Audited): Promise<readonly string[]> {
  const { records, layer, since, prefix } = of;
  const wrong: string[] = [];
  const lives: Life[] = [];
  for (const id of await records.made(layer, since, prefix)) {
    const { now, history } = await settled(records, layer, id);
    const end = now && valuesOf({ ...now.fields, geom: now.geom });
    lives.push({ id, end, turns: lived(id, history, end, wrong) });
  }
  const writes = of.editors.map((editor) => new Done(editor, lives));
  for (const life of lives)
    for (const done of writes) {
      done.counted(life, wrong);
      done.caused(life, wrong);
    }
  const isSpecial = (id: number) => writes.some(({ special }) => special.has(id));
  for (const editor of of.editors)
    for (const memory of editor.memories) kept(editor, memory, { lives, isSpecial }, wrong);
  for (const { login, writes } of of.editors)
    for (const { path } of writes.filter(({ path, state }, at) =>
      writes.some(
        (one, other) =>
          other < at &&
          path.endsWith("/undo/") &&
          one.path === path &&
          one.state === "unknown" &&
          state !== "unknown",
      ),
    ))
      wrong.push(
        `${login} has asked for ${path} with another key before it was known whether it had been done`,
      );
  for (const [mark, most] of of.made) {
    const ids = lives.filter(({ turns }) => turns[0]?.after?.get("mark") === textOf(mark));
    if (ids.length > most)
      wrong.push(`${mark} was made ${most} times, and there are ${ids.map(({ id }) => id)}`);
  }
  return wrong;
}

/** An object with the history that it has come from: a node may still do what was cut. */
async function settled(records: Records, layer: Layer, id: number) {
  for (;;) {
    const history = await records.history(layer, id);
    const now = await records.read(layer, id);
    const after = await records.history(layer, id);
    if (after.length === history.length) return { now, history };
  }
}

const valuesOf = (found: Readonly<Record<string, unknown>>): Values =>
  new Map(fields.map((field) => [field, textOf(found[field])]));

/** Plays a history from its end: each entry ends with what the next one has begun with. */
function lived(id: number, entries: readonly Entry[], end: Values | undefined, wrong: string[]): Turn[] {
  const turns: Turn[] = [];
  let after = end;
  for (const entry of [...entries].reverse()) {
    const name = `entry ${entry.id} of object ${id}`;
    const isThere = after !== undefined;
    if (isThere === (entry.kind === "deleted"))
      wrong.push(`${name}: ${entry.kind}, and it is ${isThere ? "" : "not "}there`);
    let before: Values | undefined;
    if (entry.kind === "deleted") before = valuesOf(entry.before ?? {});
    else if (entry.kind === "changed") {
      before = new Map(after ?? []);
      for (const field of fields) {
        if (!isChanged(entry, field)) continue;
        const said = textOf(entry.after![field]);
        if (said !== after?.get(field))
          wrong.push(`${name}: ${field} became ${said}, and is ${after?.get(field)} then`);
        before.set(field, textOf(entry.before?.[field]));
      }
    }
    turns.unshift({ entry, before, after });
    after = before;
  }
  if (after) wrong.push(`object ${id} was there before its history`);
  return turns;
}

const isChanged = ({ kind, after }: Entry, field: string): boolean =>
  kind === "changed" && after !== null && Object.hasOwn(after, field);

/** Whether an entry gave a field that value. */
const isWriting = ({ entry, after }: Turn, field: string, value: string): boolean =>
  (entry.kind === "created" || isChanged(entry, field)) && after?.get(field) === value;

/** What an editor has done, by what was sent and answered. */
class Done {
  /** By object. */
  private readonly acknowledged = new Map<number, number>();
  private readonly unknown = new Map<number, number>();
  /** Objects of which something was undone or merged. */
  readonly special = new Set<number>();

  constructor(
    private readonly editor: Meant,
    lives: readonly Life[],
  ) {
    const groups = new Map<string, number[]>();
    const groupOf = new Map<number, string>();
    for (const { id, turns } of lives)
      for (const { entry } of turns) {
        groups.set(entry.group, [...(groups.get(entry.group) ?? []), id]);
        groupOf.set(entry.id, entry.group);
      }
    for (const write of editor.writes) {
      if (write.state === "refused") continue;
      const { objects, isSure, isSpecial } = touchedBy(
        write,
        (entry) => groups.get(groupOf.get(entry) ?? "") ?? [],
      );
      const isDone = write.state === "acknowledged" && isSure;
      const counts = isDone ? this.acknowledged : this.unknown;
      for (const id of objects) {
        counts.set(id, (counts.get(id) ?? 0) + 1);
        if (isSpecial) this.special.add(id);
      }
    }
  }

  /** All that was acknowledged was done, and nothing more often than it was asked for. */
  counted({ id, turns }: Life, wrong: string[]): void {
    const { login } = this.editor;
    // What is deleted is made again by undoing that.
    const times = turns.filter(
      ({ entry }, at) => entry.by === login && (at > 0 || entry.kind !== "created"),
    ).length;
    const least = this.acknowledged.get(id) ?? 0;
    const most = least + (this.unknown.get(id) ?? 0);
    if (times < least || times > most)
      wrong.push(`${login} has changed ${id} ${times} times, and was told of ${least}, at most ${most}`);
  }

  /** All that changed was written, over what was known. */
  caused({ id, turns }: Life, wrong: string[]): void {
    const { login, memories } = this.editor;
    if (this.special.has(id)) return;
    const own = memories.filter((memory) => memory.id === id);
    const times = new Map<string, number>();
    for (const turn of turns) {
      if (turn.entry.by !== login) continue;
      const entry = turn.entry.id;
      for (const field of fields) {
        if (!isChanged(turn.entry, field)) continue;
        const value = turn.after?.get(field) ?? "null";
        const before = turn.before?.get(field) ?? "null";
        if (!own.some((memory) => memory.hasWritten(field, value)))
          wrong.push(`entry ${entry}: ${login} has never written ${field} = ${value} of ${id}`);
        if (!own.some((memory) => memory.hasSeen(field, before) || memory.hasWritten(field, before)))
          wrong.push(
            `entry ${entry}: ${login} has put ${field} = ${value} of ${id} over ${before}, not knowing it`,
          );
        const name = `${field} ${value}`;
        times.set(name, (times.get(name) ?? 0) + 1);
        if (isUnique(value) && isOnce(own, field, value) && times.get(name)! > 1)
          wrong.push(
            `entry ${entry}: ${login} has written ${field} = ${value} of ${id} once, and it was done twice`,
          );
      }
    }
  }
}

const isOnce = (memories: readonly Memory[], field: string, value: string): boolean =>
  memories.flatMap((memory) => memory.written.get(field) ?? []).filter((one) => one === value).length < 2;

/** What a write is about. @param groupOf the objects that were changed together with those of an entry */
function touchedBy(
  { method, path, body }: Write,
  groupOf: (entry: number) => readonly number[],
): { readonly objects: readonly number[]; readonly isSure: boolean; readonly isSpecial: boolean } {
  const [, one] = /^objects\/(\d+)\/$/.exec(path) ?? [];
  if (method === "PUT" && one) return { objects: [Number(one)], isSure: true, isSpecial: false };
  if (path === "objects/bulk/") {
    const objects = (body as readonly { readonly id: number }[]).map(({ id }) => id);
    return { objects, isSure: true, isSpecial: false };
  }
  // Of an object whose shape stays as it is, nothing is told.
  if (path === "objects/merge/")
    return { objects: (body as { readonly ids: readonly number[] }).ids, isSure: false, isSpecial: true };
  const [, entry] = /^history\/(\d+)\/undo\/$/.exec(path) ?? [];
  if (entry) {
    const all = [...new Set(groupOf(Number(entry)))];
    return { objects: all, isSure: all.length === 1, isSpecial: true };
  }
  return { objects: [], isSure: true, isSpecial: false };
}

/** What was acknowledged is there, or was replaced by what came later. */
function kept(
  { login }: Meant,
  memory: Memory,
  { lives, isSpecial }: { readonly lives: readonly Life[]; isSpecial(id: number): boolean },
  wrong: string[],
): void {
  const life = lives.find(({ id }) => id === memory.id);
  if (!life) {
    if (memory.acknowledged.length > 0)
      wrong.push(`${login} was told that ${memory.mark} is saved, and it never was there`);
    return;
  }
  const { id, turns } = life;
  for (const { field, value } of memory.acknowledged)
    if (!turns.some((turn) => isWriting(turn, field, value)))
      wrong.push(`${login} was told that ${field} = ${value} of ${id} is saved, and it never was`);
  for (const { field, mine, decision } of memory.asked) {
    const times = turns.filter((turn) => turn.entry.by === login && isWriting(turn, field, mine)).length;
    if (decision === "theirs" && isUnique(mine) && times > 0)
      wrong.push(`${login} was asked about ${field} = ${mine} of ${id} after it had been saved`);
  }
  if (!isSpecial(life.id)) lastOf(login, memory, life, wrong);
}

/** The last value is not older than what the same editor has written after it. */
function lastOf(login: string, memory: Memory, { id, turns, end }: Life, wrong: string[]): void {
  for (const field of fields) {
    const last = turns.findLast(({ entry }) => isChanged(entry, field))?.entry;
    const acknowledged = memory.acknowledged.findLast((one) => one.field === field);
    const value = end?.get(field);
    if (!last || !acknowledged || last.by !== login || value === undefined) continue;
    const written = memory.written.get(field) ?? [];
    const at = written.lastIndexOf(value);
    if (at >= 0 && at < written.lastIndexOf(acknowledged.value))
      wrong.push(
        `${login} has written ${field} = ${acknowledged.value} of ${id} after ${value}, which is there`,
      );
  }
}
