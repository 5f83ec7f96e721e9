import { type Child, startChild } from "../child.js";
import type { Victim } from "./attacks/attack.js";
import { attacks } from "./attacks/attacks.js";
import type { Client } from "./client.js";
import type { Burst, HostileAnswer, HostileOptions, HostileRequest } from "./hostile-process.js";

/** The hostile clients, as those see them who start them. */

export class Hostile {
  private readonly child: Child<HostileRequest, HostileAnswer> = startChild("soak/hostile-process.js");

  async start(options: HostileOptions): Promise<void> {
    await this.child.ask({ ask: "start", ...options });
  }

  /** They may be started again. @returns what was done */
  stop(): Promise<readonly Burst[]> {
    return this.child.ask({ ask: "stop" });
  }

  end(): Promise<void> {
    return this.child.stop();
  }
}

/** Names of the kinds of attacks. */
export const attackNames: readonly string[] = attacks.map(({ name }) => name);

/** Makes the project of the attacker. @param client its editor @throws Error when a request fails */
export async function makeOwn(client: Client, code: string): Promise<Victim["own"]> {
  const project = `/api/2.8/${code}/`;
  const map = `${project}own/`;
  const post = async (path: string, body: unknown) => {
    if (!(await client.ask({ as: "set-up", method: "POST", path, body, token: true })))
      throw new Error(`${path} failed.`);
  };
  await post(project, { code: "own" });
  for (const layer of ["l", "p"]) {
    await post(`${map}layers/`, { code: layer });
    for (const column of ["a", "b"])
      await post(`${map}layers/${layer}/structure/`, { code: column, type: "number" });
    const geom = { type: "Point", coordinates: [10, 50] };
    await post(`${map}layers/${layer}/objects/`, { fields: { a: 1, b: 2 }, geom });
  }
  return { map, project, token: await client.signedIn() };
}
