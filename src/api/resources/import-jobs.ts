import { join } from "node:path";
import { requireRight } from "../../access/rights.js";
import type { Session } from "../../access/sessions.js";
import { CatalogReader } from "../../catalog/catalog.js";
import { type LayerNode, Right } from "../../catalog/state.js";
import { notFound } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { keepFiles } from "../../import/import-folder.js";
import type { JobDependencies, JobTask } from "../../import/import-jobs.js";
import type { Imported, ImportFile } from "../../import/import-request.js";
import { createJobs, findJob, type ImportJob, type JobOwner } from "../../import/job-rows.js";
import type { Preview } from "../../import/preview-model.js";
import type { Answered } from "../request/answer-schemas.js";
import { answer, callerHeaders, refusalOf } from "../request/caller.js";
import { type LayerContext, layerContext, toEditObjects } from "../request/context.js";
import { answers, type Operation, operation } from "../request/operation.js";
import { layerPath } from "../request/paths.js";
import { ref } from "../request/schema/schema.js";
import type { Services } from "../services.js";
import { layerAnswer } from "./layer-answer.js";

/** Imports that go on after their request was answered: how they are, and their end. */

/** What an answer says of an import. */
export const importResult = (imported: Imported, dryRun: boolean): Answered<"ImportResult"> => ({
  features: imported.rows,
  added: imported.inserted,
  updated: imported.updated,
  removed: imported.removed,
  unmatched: imported.unmatched,
  columns: imported.columns,
  written: imported.written,
  summary: imported.summary,
  notes: imported.notes,
  bad: imported.bad.count,
  rows: imported.bad.rows,
  dry_run: dryRun,
  ...(imported.preview && { preview: previewAnswer(imported.preview) }),
});

/** What a dry run shows of the file. */
function previewAnswer({ files, bbox, coordinates, columns, features }: Preview) {
  return {
    layers: files.flatMap(({ format, layers }) =>
      layers.map(({ geometry, isRead, ...layer }) => ({
        ...layer,
        format,
        ...(geometry !== undefined && { geometry_type: geometry }),
        is_read: isRead,
      })),
    ),
    bbox,
    ...(coordinates && { coordinates }),
    columns: columns.map(({ isNew, isRead, ...column }) => ({ ...column, is_new: isNew, is_read: isRead })),
    features,
  };
}

/** What of the files goes to a layer. */
export interface LayerImport extends Omit<JobTask, "files" | "caller"> {
  readonly layer: LayerNode;
}

/**
 * Keeps the files and starts the imports that they are for.
 * @param imports that of the context's layer first
 * @throws Failure busy
 */
export async function startImports(
  services: Services,
  context: LayerContext,
  imports: readonly LayerImport[],
  files: readonly ImportFile[],
): Promise<Reply> {
  const { db, config, importJobs } = services;
  const { view, map, layer, caller } = context;
  const kept = await keepFiles(join(config.dataDir, "tmp"), files);
  let ids: readonly string[];
  try {
    ids = await db.transaction((tx) =>
      createJobs(
        tx,
        imports.map(({ layer }) => ownerOf({ ...context, layer })),
      ),
    );
  } catch (error) {
    await kept.remove();
    throw error;
  }
  let using = imports.length;
  const remove = async () => {
    if (--using === 0) await kept.remove();
  };
  const shared = { list: kept.list, remove };
  // With an Idempotency-Key the rows are committed after the answer was made; if they are not, the jobs end at once.
  await db.afterwards(async () => {
    for (const [at, task] of imports.entries())
      importJobs.start(ids[at]!, { ...task, caller, files: shared });
  });
  const [id] = ids as readonly [string];
  const others = imports.slice(1).map(({ layer, source }, at) => ({
    id: ids[at + 1]!,
    layer: layer.code,
    table: source.table!,
  }));
  const job: Answered<"ImportJob"> = {
    id,
    state: "running",
    phase: "waiting",
    features: 0,
    created: new Date().toISOString(),
    finished: null,
    result: null,
    error: null,
    ...(others.length > 0 && { others }),
  };
  return {
    kind: "bytes",
    status: 202,
    body: JSON.stringify(job),
    headers: {
      "content-type": "application/json; charset=utf-8",
      location: `${view.path}/${map.code}/layers/${layer.code}/import/${id}/`,
      ...callerHeaders(caller),
    },
  };
}

/** Whether who has started an import may still do what it does, as of `ImportJobs`. */
export const importAllowance =
  ({ db, catalog, config }: Pick<Services, "db" | "catalog" | "config">): JobDependencies["requireAllowed"] =>
  async (caller, layerId, { changesColumns, tx }) => {
    const [row] = await (tx ?? db).query<{ project: string; map: string }>(
      `select p.code as project, m.code as map from node n
         join map m on m.id = n.map_id join project p on p.id = m.project_id where n.id = $1`,
      [layerId],
    );
    if (!row) throw notFound("layer of that code");
    const known = tx ? new CatalogReader(tx, config.idAlias) : catalog;
    const map = await known.map(row.project, row.map);
    // The public starts none.
    const refusal = refusalOf(caller as Omit<Session, "origin">, map.project);
    if (refusal) throw refusal;
    const right = Right.editObjects | (changesColumns ? Right.editStructure : 0);
    requireRight(map, caller, right, { id: layerId });
  };

const ownerOf = ({ caller, project, layer }: LayerContext): JobOwner => ({
  accountId: caller.accountId ?? 0,
  projectId: project.id,
  layerId: layer.id,
});

async function jobOf(request: Request, services: Services, context: LayerContext): Promise<ImportJob> {
  const job = await findJob(services.db, request.params.job!, ownerOf(context));
  if (!job) throw notFound("import of that id, or it is another user's or older than a day");
  // Its row is there as soon as its objects are: another node may not have heard of the columns that it has made.
  if (job.state === "done") await services.changes.propagate();
  return job;
}

async function shown(
  services: Services,
  context: LayerContext,
  job: ImportJob,
): Promise<Answered<"ImportJob">> {
  const { id, state, phase, rows, created, finished } = job;
  return {
    id,
    state,
    phase,
    features: job.state === "done" ? job.outcome.rows : rows,
    created: created.toISOString(),
    finished: finished?.toISOString() ?? null,
    result:
      job.state === "done"
        ? await layerAnswer(services, context, context.layer.id, {
            import: importResult(job.outcome, job.outcome.dryRun),
          })
        : null,
    error: job.state === "failed" ? { error: "error", ...job.outcome } : null,
  };
}

export const importJobOperations: readonly Operation[] = [
  operation({
    id: "getImport",
    tag: "Import and export",
    summary: "State of an import",
    details:
      "Of an import with `async`, for the user who started it, for one day. It fails with `forbidden` when the user loses the " +
      "right to edit the layer's objects before it is done.",
    access: "token",
    methods: ["GET"],
    path: `${layerPath}/import/:job/`,
    answer: answers("The import.", ref("ImportJob")),
    handle: async (request, services) => {
      const context = await layerContext(request, services, toEditObjects);
      const job = await jobOf(request, services, context);
      return answer(context.caller, await shown(services, context, job));
    },
  }),
  operation({
    id: "cancelImport",
    tag: "Import and export",
    summary: "Cancel an import",
    details: "The layer is as before. An import that has ended stays as it is.",
    access: "token",
    methods: ["DELETE"],
    changes: { unconditionally: "It ends a work that goes on, whatever that has done." },
    path: `${layerPath}/import/:job/`,
    answer: answers("The import, which has ended.", ref("ImportJob")),
    handle: async (request, services) => {
      const context = await layerContext(request, services, toEditObjects);
      await services.importJobs.cancel((await jobOf(request, services, context)).id);
      const job = await jobOf(request, services, context);
      return answer(context.caller, await shown(services, context, job));
    },
  }),
];
