import { isServerError, ServerError } from "../../map-server.js";
import { Conflict, changeRead } from "../conflict.js";
import type { Edits } from "../edits.js";
import type { Invitation } from "../invitation-address.js";
import type { Read } from "../operations.js";
import type { PeopleOf, PeopleParts } from "../people-parts.js";
import { type Grant, grantAt, type Member, type RightsPlace, type Role } from "./effective.js";

/** People of a project, as the server has them. All that asks it throws ServerError, and Conflict for what others have changed. */

export interface LayerName {
  readonly code: string;
  readonly name: string;
}
export interface NewPerson {
  readonly login: string;
  readonly role: Role;
}
export class PeopleStore {
  /** The public first. */
  members: readonly Member[] = [];
  private readonly named = new Map<string, Promise<readonly LayerName[]>>();

  constructor(
    private readonly parts: Pick<PeopleParts, "edits" | "server">,
    readonly of: PeopleOf,
  ) {}

  get everybody(): Member {
    return this.members.find(({ id }) => id === 0)!;
  }

  get administrators(): readonly Member[] {
    return this.members.filter(({ role }) => role === "admin");
  }

  /** Whether who has opened it may change anything: who administers by a grant alone may look. */
  get mayChange(): boolean {
    return this.administrators.some(({ login }) => login === this.of.login);
  }

  member(id: number): Member | undefined {
    return this.members.find((one) => one.id === id);
  }

  async load(): Promise<void> {
    await this.read();
  }

  async add(person: NewPerson): Promise<Member> {
    const added = await this.edits.send<Member>(this.project, "POST", ["members"], { body: person });
    await this.load();
    return added;
  }

  /** The one before does not count any more. */
  async invite({ id, login }: Member): Promise<Invitation> {
    const made = await this.edits
      .send<Invitation>(this.project, "POST", ["members", String(id), "invitation"])
      .catch((error: unknown) => {
        // So it says of who has the same password in other projects.
        if (isServerError(error) && error.code === "invalid_value")
          throw new Conflict("newLinkElsewhere", { name: login });
        throw error;
      });
    await this.load();
    return made;
  }

  async setRole(seen: Member, role: Role): Promise<void> {
    await this.change(seen, { role }, (now) => now.role === seen.role || now.role === role);
  }

  /** @param rights null = none of its own */
  async setRights(seen: Member, place: RightsPlace, rights: number | null): Promise<void> {
    const grant = { map: place.map ?? null, layer: place.layer ?? null, rights };
    const was = grantAt(seen, place);
    await this.change(seen, { grants: [grant] }, (now) => [was, rights].includes(grantAt(now, place)));
  }

  async remove(seen: Member): Promise<void> {
    const isSame = (now: Member) => now.role === seen.role && sameGrants(now.grants, seen.grants);
    await this.write(seen, isSame, (match) =>
      this.edits.send(this.project, "DELETE", ["members", String(seen.id)], { match }),
    );
  }

  /** The layers of a map, without folders. */
  layers(map: string): Promise<readonly LayerName[]> {
    const known = this.named.get(map);
    if (known) return known;
    const asked = this.edits
      .inSession(this.project, () => this.parts.server.allLayers({ project: this.project, map }))
      .then((elements) =>
        elements
          .filter(({ type }) => type !== "folder")
          .map(({ code, name }) => ({ code, name: name || code })),
      );
    this.named.set(map, asked);
    asked.catch(() => this.named.delete(map));
    return asked;
  }

  private get edits(): Edits {
    return this.parts.edits;
  }

  private get project(): string {
    return this.of.project.code;
  }

  private async read(): Promise<Read<readonly Member[]>> {
    const read = await this.edits.read<readonly Member[]>(this.project, ["members"]);
    this.members = read.value;
    return read;
  }

  private change(
    seen: Member,
    body: { readonly role?: Role; readonly grants?: readonly object[] },
    isSame: (now: Member) => boolean,
  ): Promise<void> {
    const segments = ["members", String(seen.id)];
    return this.write(seen, isSame, (match) =>
      this.edits.send(this.project, "PATCH", segments, { body, match }),
    );
  }

  /** Writes for what was seen; what others change of somebody else meanwhile stays. */
  private async write(
    seen: Member,
    isSame: (now: Member) => boolean,
    send: (match: string | undefined) => Promise<unknown>,
  ): Promise<void> {
    const read = async () => {
      const found = await this.read();
      const now = this.member(seen.id);
      if (!now) throw new ServerError(404, undefined);
      if (!isSame(now)) throw new Conflict("conflictRights", { name: seen.login });
      return found;
    };
    await changeRead(read, (_now, match) => send(match));
    // Who has given up the own role may not look any more.
    if (seen.login !== this.of.login) await this.load();
  }
}

const sameGrants = (one: readonly Grant[], other: readonly Grant[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
