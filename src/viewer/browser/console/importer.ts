import { h } from "../dom.js";
import { type MapId, ServerError } from "../map-server.js";
import type { Translate } from "../texts.js";
import { type BadRow, type Edits, type ImportJob, newKey } from "./edits.js";
import { codeOf, type FileGroup, groupFiles } from "./file-groups.js";
import { ImportCard } from "./import-card.js";
import { problemOf } from "./problem.js";

/** From files to layers, one after the other: each group of files becomes a layer. */

export interface ImporterEvents {
  /** The project that new maps are made in. */
  project(): string;
  /** Whether a new map may stay hidden until it is published. */
  mayHide(): boolean;
  /** A map was made for what comes. */
  opened(map: MapId): Promise<void>;
  /** A layer has got its objects. @param layerIds of it and those before it, of files that came together */
  imported(map: MapId, layerIds: readonly number[]): Promise<void>;
  /** Nothing came of it: what was made for it is gone. */
  removed(map: MapId, isMapGone: boolean): Promise<void>;
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
  /** Made for it, as long as nothing came of it. */
  layer?: Layer | undefined;
}
interface Destination {
  map: MapId | undefined;
  /** Whether the map was made here, and has nothing yet. */
  isNew: boolean;
  /** Ids of layers that have got their objects. */
  readonly layers: number[];
}

/** How often is asked how an import is. */
const pollMs = 400;
const mostCodes = 50;

export class Importer {
  readonly element: HTMLElement;
  private readonly list = h("ul", { class: "imports-list" });
  private readonly waiting: Task[] = [];
  private isRunning = false;

  constructor(
    private readonly edits: Edits,
    private readonly t: Translate,
    private readonly events: ImporterEvents,
  ) {
    this.element = h(
      "section",
      { class: "card imports", "aria-label": t("imports"), "aria-live": "polite", hidden: true },
      this.list,
    );
  }

  /** Whether files are on their way. */
  get isBusy(): boolean {
    return this.isRunning;
  }

  /** @param map undefined = a new one, named after the first file */
  start(files: readonly File[], map: MapId | undefined): void {
    const destination: Destination = { map, isNew: false, layers: [] };
    for (const group of groupFiles(files)) {
      const card = new ImportCard(this.t, group.name, () => {
        card.element.remove();
        this.element.hidden = this.list.children.length === 0;
        void this.undo(task);
      });
      const task: Task = { group, card, destination };
      card.working({ phase: "waiting", features: 0 });
      this.list.append(card.element);
      this.element.hidden = false;
      this.waiting.push(task);
    }
    void this.work();
  }

  private async work(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    for (let task = this.waiting.shift(); task; task = this.waiting.shift()) await this.run(task);
    this.isRunning = false;
  }

  private async run(task: Task): Promise<void> {
    const { group, card, destination } = task;
    const control = new AbortController();
    card.uploading(0, () => control.abort());
    try {
      const map = await this.mapFor(destination, group.name);
      task.layer ??= await this.newLayer(map, group.name);
      const { layer } = task;
      const segments = [map.map, "layers", layer.code, "import"];
      const progress = (part: number) => part > 0 && card.uploading(part, () => control.abort());
      const sent = await this.edits.upload(map.project, segments, group.files, {
        progress,
        signal: control.signal,
      });
      const result = await this.finished(map, [...segments, sent.id], { card, signal: control.signal });
      destination.isNew = false;
      task.layer = undefined;
      card.done(result);
      destination.layers.push(layer.id);
      await this.events.imported(map, destination.layers);
    } catch (error) {
      const again = () => {
        card.working({ phase: "waiting", features: 0 });
        this.waiting.push(task);
        void this.work();
      };
      const rows = error instanceof ServerError ? error.data.rows : undefined;
      const problem = control.signal.aborted
        ? { text: this.t("importCancelled"), detail: "", mayPass: true }
        : problemOf(error, this.t);
      // What may pass goes on where it was.
      if (control.signal.aborted || !problem.mayPass) await this.undo(task);
      card.failed(problem, Array.isArray(rows) ? (rows as BadRow[]) : [], again);
    }
  }

  private async mapFor(destination: Destination, name: string): Promise<MapId> {
    if (destination.map) return destination.map;
    const made = await this.newMap(name);
    destination.map = made;
    destination.isNew = true;
    await this.events.opened(made);
    return made;
  }

  /** Makes a map of that name, with a code that is free. */
  async newMap(name: string): Promise<MapId> {
    const project = this.events.project();
    const code = codeOf(name, "map");
    for (let at = 1; ; at++) {
      const body = {
        code: at === 1 ? code : `${code}-${at}`,
        name,
        ...(this.events.mayHide() && { has_publication: false }),
      };
      try {
        await this.edits.send(project, "POST", [], { body, key: newKey() });
        return { project, map: body.code };
      } catch (error) {
        const isTaken =
          error instanceof ServerError && (error.code === "code_exists" || error.code === "invalid_code");
        if (!isTaken || at >= mostCodes) throw error;
      }
    }
  }

  private async newLayer({ project, map }: MapId, name: string): Promise<Layer> {
    // Above the others, as what is new should be seen.
    const body = { name, sort: 1 };
    return this.edits.send<Layer>(project, "POST", [map, "layers"], { body, key: newKey() });
  }

  /** What an import has done, when it has. @throws ServerError */
  private async finished(
    { project }: MapId,
    segments: readonly string[],
    { card, signal }: { readonly card: ImportCard; readonly signal: AbortSignal },
  ) {
    for (;;) {
      if (signal.aborted) {
        await this.edits.send(project, "DELETE", segments).catch(() => undefined); // the layer goes in any case
        throw signal.reason;
      }
      const job = await this.edits.send<ImportJob>(project, "GET", segments).catch((error: unknown) => {
        // It goes on at the server: when that can be reached again, the answer is there.
        if (error instanceof ServerError && (error.status === 0 || error.status === 503)) return undefined;
        throw error;
      });
      if (job?.state === "done") return job.result?.import ?? { features: job.features, bad: 0, rows: [] };
      if (job?.error)
        throw new ServerError(500, job.error.code, undefined, job.error.message, job.error.data);
      if (job?.state === "cancelled") throw new ServerError(500, "import_failed");
      if (job) card.working(job);
      await new Promise((resolve) => window.setTimeout(resolve, job ? pollMs : 5 * pollMs));
    }
  }

  /** Removes what was made for files of which nothing came. */
  private async undo(task: Task): Promise<void> {
    const { destination, layer } = task;
    const { map, isNew } = destination;
    if (!map || (!layer && !isNew)) return;
    task.layer = undefined;
    // What cannot be removed now is empty, and can be removed in the list of layers.
    const remove = (segments: readonly string[]) =>
      this.edits.send(map.project, "DELETE", segments).then(
        () => true,
        () => false,
      );
    const isMapGone = isNew && (await remove([map.map]));
    if (isMapGone) {
      destination.map = undefined;
      destination.isNew = false;
    } else if (layer) await remove([map.map, "layers", layer.code]);
    await this.events.removed(map, isMapGone);
  }
}
