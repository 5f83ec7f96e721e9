import t from "tap";
import { rightsOn } from "../../src/access/rights.js";
import type { Grant as ServerGrant } from "../../src/catalog/state.js";
import {
  extentOn,
  type Grant,
  type Member,
  rightsAt,
  usualRights,
} from "../../src/viewer/browser/console/people/effective.js";
import { endOfDay } from "../../src/viewer/browser/console/people/end-of-day.js";

/** Parts of people and keys that need no page. */

const givenTo = { user: [undefined, 0, 1, 3, 15], everybody: [undefined, 0, 3] } as const;
type Given = number | undefined;
const grantsOf = (project: Given, map: Given, layer: Given): readonly Grant[] =>
  (
    [
      [null, null, project],
      ["m", null, map],
      ["m", "l", layer],
    ] as const
  ).flatMap(([map, layer, rights]) => (rights === undefined ? [] : [{ map, layer, rights }]));
const ofServer = (grants: readonly Grant[], accountId: number | null): readonly ServerGrant[] =>
  grants.map(({ map, layer, rights }) => ({
    mapId: map === null ? null : 1,
    layerId: layer === null ? null : 2,
    accountId,
    rights,
  }));
const triples = (values: readonly Given[]): readonly (readonly Grant[])[] =>
  values.flatMap((one) => values.flatMap((two) => values.map((three) => grantsOf(one, two, three))));

t.test("the console says of all roles and rights what the server decides", (t) => {
  const wrong: string[] = [];
  let count = 0;
  for (const role of ["admin", "editor", "viewer", null] as const)
    for (const own of role === null ? [[]] : triples(givenTo.user))
      for (const open of triples(givenTo.everybody))
        for (const isPrivate of [false, true])
          for (const layer of [undefined, "l", "other"]) {
            const everybody: Member = { id: 0, login: "public", role: null, grants: open };
            const member = role === null ? everybody : { id: 7, login: "anna", role, grants: own };
            const project = {
              id: 1,
              members: new Map(role === null ? [] : [[7, { login: "anna", role }]]),
              grants: [...ofServer(own, 7), ...ofServer(open, null)],
            };
            const caller =
              role === null
                ? { accountId: null, login: null, projectId: null }
                : { accountId: 7, login: "anna", projectId: 1 };
            const map = { id: 1, hasPublication: !isPrivate, project };
            const decided = rightsOn(
              map,
              caller,
              layer === undefined ? undefined : { id: layer === "l" ? 2 : 3 },
            );
            const said = rightsAt(member, everybody, { code: "m", isPrivate }, layer);
            count++;
            if (said !== decided)
              wrong.push(JSON.stringify({ role, own, open, isPrivate, layer, said, decided }));
          }
  t.same(wrong.slice(0, 3), []);
  t.ok(count > 50_000);
  t.end();
});

t.test("what is usual is what less specific rights and the role say", (t) => {
  const everybody: Member = { id: 0, login: "public", role: null, grants: [] };
  const anna: Member = { id: 7, login: "anna", role: "viewer", grants: grantsOf(3, 0, 7) };
  const map = { code: "m" };
  t.equal(usualRights(anna, everybody), 1);
  t.equal(usualRights(anna, everybody, map), 3);
  t.equal(usualRights(anna, everybody, map, "l"), 0);
  t.equal(usualRights(anna, everybody, map, "other"), 0);
  t.equal(usualRights({ ...everybody, grants: grantsOf(0, 1, undefined) }, everybody, map), 0);
  t.end();
});

t.test("a map of which one layer is seen is seen in part", (t) => {
  const everybody: Member = { id: 0, login: "public", role: null, grants: grantsOf(undefined, undefined, 0) };
  const anna: Member = { id: 7, login: "anna", role: "viewer", grants: [] };
  const map = { code: "m", isPrivate: false };
  t.equal(extentOn(everybody, everybody, map, 1), "some", "one layer is hidden");
  t.equal(extentOn(anna, everybody, map, 1), "all");
  t.equal(extentOn({ ...anna, grants: grantsOf(undefined, 0, 3) }, everybody, map, 2), "some");
  t.equal(extentOn({ ...anna, grants: grantsOf(undefined, 0, undefined) }, everybody, map, 1), "none");
  t.equal(extentOn(everybody, everybody, { ...map, isPrivate: true }, 1), "none");
  t.end();
});

t.test("a key ends with the day that was chosen, also the last one of a year", (t) => {
  t.equal(endOfDay("2027-12-31"), new Date(2028, 0, 1).toISOString());
  t.equal(endOfDay("2028-02-28"), new Date(2028, 1, 29).toISOString());
  t.end();
});
