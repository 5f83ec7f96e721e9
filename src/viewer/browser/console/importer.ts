import { button, h } from "../dom.js";
import { type MapId, ServerError } from "../map-server.js";
import type { Query } from "../paths.js";
import type { Translate } from "../texts.js";
import type { BadRow, Edits, ImportJob } from "./edits.js";
import { type FileGroup, groupFiles } from "./file-groups.js";
import { keepFocus } from "./focus.js";
import { ImportCard } from "./import-card.js";
import { endOf, unwanted } from "./import-end.js";
import { fieldsOf } from "./import-fields.js";
import { removeEmpty } from "./leftovers.js";
import { newKey } from "./new-key.js";
import { type Asked, type NewPlace, newMap } from "./new-map.js";
import { type LookedAt, plainText } from "./plain-text.js";
import { problemOf } from "./problem.js";
import type { ReadFile, Reading } from "./reading/read-file.js";
import { type FileTable, tablesOf } from "./table-choice.js";

/** From files to layers, one after the other: each group of files becomes a layer, or each table of it that is chosen. */

export interface ImporterEvents {
  /** The project that new maps are made in. */
  project(): string;
  /** Whether a new map may stay hidden until it is published. */
  mayHide(): boolean;
  /** Names that maps have already. */
  names(): ReadonlySet<string>;
  /** A map was made for what comes. */
  opened(map: MapId): Promise<void>;
  /** A layer has got its objects. @param layerIds of it and those before it, of files that came together */
  imported(map: MapId, layerIds: readonly number[]): Promise<void>;
  /** Nothing came of it: what was made for it is gone. */
  removed(map: MapId, isMapGone: boolean): Promise<void>;
  /** Tells how a file was read. */
  read(file: ReadFile): void;
  /** No files are listed any more. */
  closed(): void;
}

interface Layer {
  readonly id: number;
  readonly code: string;
}
/** Of a group of files, and of those that were dropped with it: they go to the same map. */
interface Task {
  readonly group: FileGroup<File>;
  readonly card: ImportCard;
  readonly destination: Destination;
  /** Of its layer and its import: what is asked for again is done once. */
  keys: { readonly layer: string; readonly files: string };
  /** Made for it, as long as nothing came of it. */
  layer?: Layer | undefined;
  /** Whether it is to be imported, whatever is in it. */
  isSure: boolean;
  /** What of it: the table of that name, all together; undefined = all, if that is one table. */
  part?: { readonly table: string } | "whole" | undefined;
  /** Id of its import, until that is known to have ended. */
  job?: string | undefined;
  /** For which other tables its files were sent, as a parameter. */
  sentFor?: string | undefined;
  /** What is said of how it is read. */
  reading: Reading;
  /** Its layer, since that has objects of it, and codes of the columns that it has got for them. */
  made?: { readonly layer: Layer; readonly columns: readonly string[] } | undefined;
}
interface Destination {
  readonly place: NewPlace;
  readonly asked: Asked;
  map: MapId | undefined;
  /** Whether the map was made here, and has nothing yet. */
  isNew: boolean;
  /** Ids of layers that have got their objects. */
  readonly layers: number[];
}

/** Why something ends whose user has signed out. */
const signedOut = new DOMException("signed out", "AbortError");
const images = /\.(tiff?|geotiff?|png|jpe?g)$/i;
/** Parameters of an import. A file of several tables is refused, with their names, until some are chosen. */
const partQuery = ({ part }: Task): Query =>
  part === "whole" ? {} : part === undefined ? { one_table: 1 } : { table: part.table };
/** Tables that files are sent for at once, beside the first. */
const mostOthers = 100;
const newKeys = () => ({ layer: newKey(), files: newKey() });

export class Importer {
  readonly element: HTMLElement;
  private readonly list = h("ul", { class: "imports-list" });
  /** Read out: how each ends, not every percent. */
  private readonly spoken = h("p", { class: "visually-hidden", role: "status" });
  /** Those that have a card. */
  private readonly tasks = new Set<Task>();
  private readonly waiting: Task[] = [];
  /** Those that need a session first. */
  private readonly stopped = new Set<Task>();
  private running: { readonly task: Task; readonly control: AbortController } | undefined;

  constructor(
    private readonly edits: Edits,
    private readonly t: Translate,
    private readonly events: ImporterEvents,
  ) {
    const label = { "aria-label": t("imports"), hidden: true };
    const dismissal = button(
      { class: "text-button imports-dismissal" },
      () => this.dismissDone(),
      t("dismissDone"),
    );
    this.element = h("section", { class: "card imports", ...label }, this.list, dismissal, this.spoken);
  }

  /** Whether files are on their way. */
  get isBusy(): boolean {
    return this.running !== undefined;
  }

  /** @param map undefined = a new one, named after the first file */
  start(files: readonly File[], map: MapId | undefined): void {
    const destination: Destination = { place: this.place(), asked: {}, map, isNew: false, layers: [] };
    for (const group of groupFiles(files)) {
      const task = this.newTask(group, destination);
      this.list.append(task.card.element);
      this.element.hidden = false;
      this.queue(task);
    }
    void this.work();
  }

  private newTask(group: FileGroup<File>, destination: Destination): Task {
    const card = new ImportCard(this.t, group.name, {
      close: () => void this.dismiss(task),
      say: (text) => {
        this.spoken.textContent = `${group.name}: ${text}`;
      },
    });
    const task: Task = { group, card, destination, keys: newKeys(), isSure: false, reading: {} };
    this.tasks.add(task);
    return task;
  }

  /** Nobody is signed in any more: what is not done waits for somebody. */
  stop(): void {
    this.running?.control.abort(signedOut);
  }

  private queue(task: Task): void {
    this.waiting.push(task);
    task.card.waiting(() => {
      this.waiting.splice(this.waiting.indexOf(task), 1);
      if (task.job === undefined) void this.failed(task, unwanted);
      else {
        // It was sent with another.
        const control = new AbortController();
        control.abort(unwanted);
        void this.run({ task, control });
      }
    });
  }

  private async work(): Promise<void> {
    if (this.running) return;
    for (let task = this.waiting.shift(); task; task = this.waiting.shift()) {
      this.running = { task, control: new AbortController() };
      try {
        await this.run(this.running);
      } finally {
        this.running = undefined;
      }
    }
  }

  private async run({ task, control }: NonNullable<Importer["running"]>): Promise<void> {
    const { group, card, destination } = task;
    const { signal } = control;
    const cancel = () => control.abort(unwanted);
    card.waiting(cancel);
    if (task.job === undefined) card.uploading(0);
    try {
      const map = destination.map ?? (await this.mapFor(destination, group.name));
      task.layer ??= task.made?.layer ?? (await this.newLayer(map, task));
      const { layer } = task;
      const segments = [map.map, "layers", layer.code, "import"];
      const looked = { project: map.project, segments, signal };
      const column = task.isSure ? undefined : await this.plainText(group.files, looked);
      if (column !== undefined) {
        this.ask(task, column);
        return;
      }
      task.isSure = true;
      task.job ??= await this.send(task, { map, segments }, signal);
      const result = await endOf(
        this.edits,
        { project: map.project, segments: [...segments, task.job] },
        signal,
        (job) => {
          if (job?.state === "running") card.working(job);
          else task.job = undefined;
        },
      );
      destination.isNew = false;
      task.layer = undefined;
      const columns = (result.columns ?? []).map(({ code }) => code);
      task.made = { layer, columns: [...(await this.withoutStale(task, map, result.written)), ...columns] };
      card.done(result, this.readingOf(task, map));
      if (!destination.layers.includes(layer.id)) destination.layers.push(layer.id);
      // It is there, whether the page can show it or not.
      await this.events.imported(map, destination.layers).catch(() => undefined);
    } catch (error) {
      const tables =
        task.part === undefined && error instanceof ServerError ? tablesOf(error.data) : undefined;
      if (tables) this.askTables(task, tables);
      else await this.failed(task, error);
    }
  }

  /** Sends the files, for other tables of them that wait, too. @returns the id of its import */
  private async send(
    task: Task,
    { map, segments }: { readonly map: MapId; readonly segments: readonly string[] },
    signal: AbortSignal,
  ): Promise<string> {
    const { group, card, reading } = task;
    const others = new Map<string, Task>();
    for (const other of this.othersOf(task)) {
      signal.throwIfAborted();
      if (!this.waiting.includes(other)) continue;
      other.layer ??= await this.newLayer(map, other);
      if (this.waiting.includes(other)) others.set(other.layer.code, other);
      else await this.undo(other);
    }
    const tables = [...others].map(([code, { part }]) => [(part as { table: string }).table, code]);
    const other_tables = tables.length > 0 ? JSON.stringify(Object.fromEntries(tables)) : undefined;
    // What is sent for others than before is another request.
    if (other_tables !== task.sentFor) task.keys = { ...task.keys, files: newKey() };
    task.sentFor = other_tables;
    const { encoding, srs } = reading;
    const job = await this.edits.upload<ImportJob>(map.project, segments, group.files, {
      query: { action: 1, async: 1, partial: 1, ...partQuery(task), encoding, srs },
      fields: { ...fieldsOf(reading), ...(other_tables !== undefined && { other_tables }) },
      progress: (part) => card.uploading(part),
      signal,
      key: task.keys.files,
    });
    for (const { id, layer } of job.others ?? []) {
      const other = others.get(layer);
      // Of one that was cancelled meanwhile, the layer is gone.
      if (other && this.waiting.includes(other)) other.job = id;
    }
    return job.id;
  }

  /** Tables of the same files that have still to be imported. */
  private othersOf({ group, part, made }: Task): readonly Task[] {
    if (typeof part !== "object" || made) return [];
    const others = this.waiting.filter(
      (other) =>
        other.group.files === group.files &&
        typeof other.part === "object" &&
        other.job === undefined &&
        !other.made,
    );
    return others.slice(0, mostOthers);
  }

  /** Lets its user see how it was read, and read it in another way; undefined = an image has nothing to be seen. */
  private readingOf(task: Task, { project, map }: MapId): (() => void) | undefined {
    const { files, name } = task.group;
    if (files.some((file) => images.test(file.name))) return undefined;
    return () => {
      const { made, reading } = task;
      if (!made) return;
      const segments = [map, "layers", made.layer.code, "import"];
      const again = (wanted: Reading) => {
        // Should the one before still run, this one waits for it.
        Object.assign(task, { reading: wanted, keys: newKeys(), job: undefined });
        this.queue(task);
        void this.work();
      };
      this.events.read({ name, project, segments, files, part: partQuery(task), reading, again });
    };
  }

  /** Deletes the columns that a reading before has made and this one has not. @returns those that are left */
  private async withoutStale(
    { made }: Task,
    { project, map }: MapId,
    now: readonly string[] | undefined,
  ): Promise<readonly string[]> {
    if (!made || !now) return made?.columns ?? [];
    const left: string[] = [];
    for (const code of made.columns) {
      if (now.includes(code)) left.push(code);
      else
        await this.edits
          .send(project, "DELETE", [map, "layers", made.layer.code, "structure", code])
          .catch(() => left.push(code)); // who may not keeps an empty column
    }
    return left;
  }

  /** What cannot be looked at is told by its import. */
  private plainText(files: readonly File[], looked: LookedAt): Promise<string | undefined> {
    return plainText(this.edits, files, looked).catch((error: unknown) => {
      if (looked.signal.aborted || problemOf(error, this.t).mayPass) throw error;
      return undefined;
    });
  }

  /** Others go on meanwhile. */
  private ask(task: Task, column: string): void {
    task.card.asks(column, {
      go: () => {
        task.isSure = true;
        this.queue(task);
        void this.work();
      },
      leave: () => void this.failed(task, unwanted),
    });
  }

  /** Others go on meanwhile. */
  private askTables(task: Task, tables: readonly FileTable[]): void {
    task.card.asksTables(tables, {
      chosen: (names) => void this.split(task, names),
      whole: () => {
        task.part = "whole";
        // The same files, for another import.
        task.keys = { ...task.keys, files: newKey() };
        this.queue(task);
        void this.work();
      },
      leave: () => void this.failed(task, unwanted),
    });
  }

  /** Each table becomes a layer, with a card in place of that of the file. */
  private async split(task: Task, names: readonly string[]): Promise<void> {
    const { files } = task.group;
    const tasks = names.map((name) => {
      const part = this.newTask({ name, files }, task.destination);
      part.part = { table: name };
      part.isSure = true;
      this.queue(part);
      return part;
    });
    task.card.element.replaceWith(...tasks.map(({ card }) => card.element));
    this.tasks.delete(task);
    keepFocus(tasks[0]?.card.element.querySelector("button"));
    // It was made for the whole of the file.
    await this.undo(task);
    void this.work();
  }

  private async mapFor(destination: Destination, name: string): Promise<MapId> {
    const map = await newMap(this.edits, name, destination.place, destination.asked);
    destination.map = map;
    destination.isNew = true;
    await this.events.opened(map);
    return map;
  }

  /** Makes a map of that name, with a code that is free. */
  newMap(name: string): Promise<MapId> {
    return newMap(this.edits, name, this.place());
  }

  private place(): NewPlace {
    return { project: this.events.project(), mayHide: this.events.mayHide(), names: this.events.names() };
  }

  private newLayer({ project, map }: MapId, { group: { name }, keys }: Task): Promise<Layer> {
    // Above the others, as what is new should be seen.
    return this.edits.send<Layer>(project, "POST", [map, "layers"], {
      body: { name, sort: 1 },
      key: keys.layer,
    });
  }

  /** Tells what went wrong. What may pass goes on where it was; else what was made for it goes. */
  private async failed(task: Task, why: unknown): Promise<void> {
    const error = why === signedOut ? new ServerError(401, undefined) : why;
    const isUnwanted = error === unwanted;
    const { status, data } = error instanceof ServerError ? error : { status: undefined, data: {} };
    const problem = problemOf(error, this.t);
    const keeps = task.job !== undefined || task.made !== undefined || (problem.mayPass && !isUnwanted);
    const left = keeps ? undefined : await this.undo(task);
    const told = isUnwanted
      ? { text: this.t(left === undefined && !task.made ? "importCancelled" : "importStopped"), detail: "" }
      : problem;
    const detail =
      left === undefined ? told.detail : `${told.detail} ${this.t("importLeft", { name: left })}`.trim();
    const rows: unknown = (data as { readonly rows?: unknown }).rows;
    if (status === 401) this.stopped.add(task);
    const { map } = task.destination;
    task.card.failed({ text: told.text, detail }, Array.isArray(rows) ? (rows as BadRow[]) : [], {
      again: () => this.again(task),
      read: task.made && map && this.readingOf(task, map),
    });
    // The others would only ask for a session again.
    if (status === 401) for (const other of this.waiting.splice(0)) await this.failed(other, error);
  }

  private again(task: Task): void {
    const tasks = this.stopped.has(task) ? [...this.stopped] : [task];
    for (const one of tasks) {
      this.stopped.delete(one);
      this.queue(one);
    }
    void this.work();
  }

  private dismissDone(): void {
    for (const task of this.tasks) if (task.card.element.dataset.state === "done") void this.dismiss(task);
    keepFocus(this.list.querySelector<HTMLElement>("button"));
  }

  private async dismiss(task: Task): Promise<void> {
    const { element } = task.card;
    const beside = element.nextElementSibling ?? element.previousElementSibling;
    element.remove();
    keepFocus(beside?.querySelector<HTMLElement>("button"));
    this.tasks.delete(task);
    this.stopped.delete(task);
    this.element.hidden = this.list.children.length === 0;
    if (this.element.hidden) this.events.closed();
    // An import whose end is not known goes on, and its layer gets what was sent.
    if (task.job === undefined) await this.undo(task);
  }

  /** Removes what was made for files of which nothing came, where it is empty. @returns the name of what stays */
  private async undo(task: Task): Promise<string | undefined> {
    const { destination, layer, group } = task;
    const { map, isNew } = destination;
    if (task.made || !map || (!layer && !isNew)) return undefined;
    const withMap = isNew && ![...this.tasks].some((other) => other !== task && this.isGoingTo(other, map));
    if (!layer && !withMap) return undefined;
    const gone = await removeEmpty(this.edits, { map, layer, withMap });
    // What has something, or could not be removed, is left to the user: another try makes its own.
    task.layer = undefined;
    task.keys = newKeys();
    if (gone.map) {
      destination.map = undefined;
      destination.isNew = false;
    }
    if (gone.map || gone.layer) await this.events.removed(map, gone.map);
    if (!gone.layer) return group.name;
    return withMap && !gone.map ? map.map : undefined;
  }

  /** Whether a task still has, or will have, a layer in a map. */
  private isGoingTo(task: Task, { project, map }: MapId): boolean {
    const { map: own } = task.destination;
    const isThere = own?.project === project && own.map === map;
    return (
      isThere && (task.layer !== undefined || this.running?.task === task || this.waiting.includes(task))
    );
  }
}
