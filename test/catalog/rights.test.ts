import t from "tap";
import {
  coversRights,
  mayRead,
  requireProjectRight,
  requireRight,
  rightsOn,
  rightsOnProject,
} from "../../src/access/rights.js";
import type {
  Caller,
  Grant,
  LayerNode,
  MapState,
  Member,
  ProjectState,
  Role,
} from "../../src/catalog/state.js";
import { publicCaller, Right } from "../../src/catalog/state.js";
import { failure } from "../support/failure.js";

const mapId = 10;
const layerId = 11;
const [me, other] = [1, 2];

interface Case {
  readonly role: Role | "public" | "stranger" | "of another project";
  readonly published: boolean;
  readonly grants: readonly Grant[];
}

function stateOf(theCase: Case): { map: MapState; caller: Caller; layer: LayerNode } {
  const members = new Map<number, Member>([[other, { login: "other", role: "editor" }]]);
  if (theCase.role === "admin" || theCase.role === "editor" || theCase.role === "viewer")
    members.set(me, { login: "me", role: theCase.role });
  if (theCase.role === "of another project") members.set(me, { login: "me", role: "admin" });
  const project: ProjectState = {
    id: 5,
    code: "p",
    name: "",
    languages: ["en"],
    baseMap: { kind: "none" },
    hidden: false,
    revision: 1,
    members,
    keys: new Map(),
    grants: theCase.grants,
    pictures: new Map(),
    fonts: new Map(),
  };
  const layer = { id: layerId, type: "layer" } as LayerNode;
  const map = {
    id: mapId,
    project,
    hasPublication: theCase.published,
    layers: new Map([["l", layer]]),
  } as unknown as MapState;
  const caller: Caller =
    theCase.role === "public"
      ? publicCaller
      : { accountId: me, login: "me", projectId: theCase.role === "of another project" ? 6 : 5 };
  return { map, caller, layer };
}

const grant = (
  place: "project" | "map" | "layer" | "other map",
  accountId: number | null,
  rights: number,
): Grant => ({
  accountId,
  rights,
  mapId: place === "project" ? null : place === "other map" ? 99 : mapId,
  layerId: place === "layer" ? layerId : null,
});

/** The rule in other words: what each place says, the narrowest last. */
function expected(theCase: Case, onLayer: boolean): number {
  const said = (accountId: number | null): number | undefined => {
    let rights: number | undefined;
    for (const place of ["project", "map", "layer"] as const) {
      if (place === "layer" && !onLayer) continue;
      const here = theCase.grants.find(
        (candidate) =>
          candidate.accountId === accountId &&
          candidate.mapId === (place === "project" ? null : mapId) &&
          candidate.layerId === (place === "layer" ? layerId : null),
      );
      if (here) rights = here.rights;
    }
    return rights;
  };
  const everybody = theCase.published ? (said(null) ?? 1) : 0;
  switch (theCase.role) {
    case "public":
      return everybody;
    case "stranger":
    case "of another project":
      return 0;
    case "admin":
      return 15;
    case "editor":
      return said(me) ?? 7 | everybody;
    case "viewer":
      return said(me) ?? 1 | everybody;
  }
}

const rightsOrNone = [undefined, 0, 1, 3, 15];
const grantSets: Grant[][] = [];
for (const ofProject of rightsOrNone) {
  for (const ofMap of [undefined, 0, 5]) {
    for (const ofLayer of [undefined, 0, 2]) {
      for (const ofPublic of [undefined, 0, 3]) {
        const set: Grant[] = [grant("other map", me, 15), grant("map", other, 8)];
        if (ofLayer !== undefined) set.push(grant("layer", me, ofLayer));
        if (ofProject !== undefined) set.push(grant("project", me, ofProject));
        if (ofMap !== undefined) set.push(grant("map", me, ofMap));
        if (ofPublic !== undefined) set.push(grant("map", null, ofPublic));
        grantSets.push(set);
      }
    }
  }
}

t.test("rights follow role, grants and publication", async (t) => {
  const wrong: string[] = [];
  let count = 0;
  for (const role of ["admin", "editor", "viewer", "public", "stranger", "of another project"] as const) {
    for (const published of [true, false]) {
      for (const grants of grantSets) {
        const theCase: Case = { role, published, grants };
        const { map, caller, layer } = stateOf(theCase);
        for (const onLayer of [false, true]) {
          count++;
          const actual = rightsOn(map, caller, onLayer ? layer : undefined);
          if (actual !== expected(theCase, onLayer)) wrong.push(JSON.stringify({ theCase, onLayer, actual }));
        }
      }
    }
  }
  t.same(wrong, [], `${count} cases`);
});

t.test("the public has nothing of an unpublished map, whatever its grants say", async (t) => {
  const grants = [grant("project", null, 15), grant("map", null, 15), grant("layer", null, 15)];
  const { map, layer } = stateOf({ role: "public", published: false, grants });
  t.equal(rightsOn(map, publicCaller), 0);
  t.equal(rightsOn(map, publicCaller, layer), 0);
  t.equal(mayRead(map, publicCaller), false);
});

t.test("a map may be read when one of its layers may", async (t) => {
  const hidden = [grant("map", null, 0)];
  const { map } = stateOf({ role: "public", published: true, grants: hidden });
  t.equal(mayRead(map, publicCaller), false);
  const open = stateOf({ role: "public", published: true, grants: [...hidden, grant("layer", null, 1)] });
  t.equal(mayRead(open.map, publicCaller), true);
});

t.test("writing needs a session even where the public was granted it", async (t) => {
  const { map } = stateOf({ role: "public", published: true, grants: [grant("map", null, 15)] });
  t.throws(() => requireRight(map, publicCaller, Right.editObjects), failure("unauthenticated"));
  t.throws(
    () => requireProjectRight(map.project, publicCaller, Right.administer),
    failure("unauthenticated"),
  );
});

t.test("a user who lacks the right is forbidden", async (t) => {
  const { map, caller } = stateOf({ role: "viewer", published: true, grants: [] });
  t.throws(() => requireRight(map, caller, Right.editObjects), failure("forbidden"));
  t.doesNotThrow(() => requireRight(map, caller, Right.read));
  t.throws(() => requireProjectRight(map.project, caller, Right.editStructure), failure("forbidden"));
});

t.test("rights on the project come from the role and the project's own grants", async (t) => {
  const of = (role: Case["role"], grants: Grant[] = []) => {
    const { map, caller } = stateOf({ role, published: true, grants });
    return rightsOnProject(map.project, caller);
  };
  t.equal(of("admin"), 15);
  t.equal(of("editor"), 7);
  t.equal(of("viewer"), 1);
  t.equal(of("public", [grant("project", null, 15)]), 0);
  t.equal(of("viewer", [grant("map", me, 15)]), 1);
  t.equal(of("editor", [grant("project", me, 9)]), 9);
  t.equal(of("of another project"), 0);
});

t.test("a user covers another who has no right more, on any map or layer", (t) => {
  const roles: readonly Role[] = ["admin", "editor", "viewer"];
  // A map and a layer that grants name, and others that none does.
  const places = [10, 20, 30].flatMap((map) =>
    [undefined, map + 1, map + 2].flatMap((layer) =>
      [true, false].map((hasPublication) => ({ map, layer, hasPublication })),
    ),
  );
  let seed = 1;
  const random = (below: number): number => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  const answers = { yes: 0, no: 0 };
  for (let round = 0; round < 3_000; round++) {
    const grants: Grant[] = Array.from({ length: random(7) }, () => {
      const mapId = [null, 10, 20][random(3)]!;
      const layerId = mapId !== null && random(2) ? mapId + 1 : null;
      const rights = [1, 3, 7, 15, 0][random(5)]!;
      return { mapId, layerId, accountId: [null, me, other, 3][random(4)]!, rights };
    }).filter(
      // One for each place and subject, as the catalogue has it.
      (one, at, all) =>
        all.findIndex(
          (same) =>
            same.mapId === one.mapId && same.layerId === one.layerId && same.accountId === one.accountId,
        ) === at,
    );
    const of = [roles[random(3)]!, roles[random(3)]!] as const;
    const { map: base } = stateOf({ role: of[0], published: true, grants });
    const project: ProjectState = {
      ...base.project,
      members: new Map([me, other].map((id, i) => [id, { login: "", role: of[i]! }])),
    };
    const [caller, user] = [me, other].map((accountId) => ({ accountId, login: "", projectId: project.id }));
    const exceeds = (rights: (who: Caller) => number) => (rights(user!) & ~rights(caller!)) !== 0;
    const expected =
      !(of[1] === "admin" && of[0] !== "admin") &&
      !(of[1] === "editor" && of[0] === "viewer") &&
      !exceeds((who) => rightsOnProject(project, who)) &&
      !places.some(({ map, layer, hasPublication }) =>
        exceeds((who) =>
          rightsOn({ id: map, hasPublication, project }, who, layer ? { id: layer } : undefined),
        ),
      );
    answers[expected ? "yes" : "no"]++;
    if (coversRights(project, caller!, user!) !== expected) t.fail(JSON.stringify({ of, grants, expected }));
  }
  t.ok(answers.yes > 200 && answers.no > 200, JSON.stringify(answers));
  t.end();
});
