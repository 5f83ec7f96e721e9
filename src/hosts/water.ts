import type { Config } from "../config.js";
import type { Log } from "../log.js";
import { WorkerHost } from "./host.js";
import { gdalLimits, waterIsolation } from "./isolation.js";
import type { WaterMessages, WaterRequest } from "./messages.js";

export interface WaterDependencies {
  readonly config: Pick<Config, "transfer">;
  readonly log: Log;
  /** Ends the process. */
  readonly signal?: AbortSignal;
}

/**
 * Reads water of GSHHG in a process for this alone: those that read files of strangers have no driver for netCDF.
 * @throws HostError; the reason of the signal
 */
export async function readWater({ config, log, signal }: WaterDependencies, request: WaterRequest) {
  const { deadlineMs, memoryBytes, unpackedBytes } = config.transfer;
  const host = new WorkerHost<WaterMessages & Record<string, [unknown, unknown]>>({
    name: "water",
    worker: "transfer",
    environment: { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC", ...waterIsolation },
    concurrency: 1,
    queueLength: 1,
    maxWaitMs: deadlineMs,
    memoryBytes,
    limits: gdalLimits({ memoryBytes, fileBytes: unpackedBytes }),
    log,
  });
  try {
    await host.call("water", request, { deadlineMs, ...(signal && { signal, endsChild: true }) });
  } finally {
    await host.stop();
  }
}
