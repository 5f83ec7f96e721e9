import t from "tap";
import { KeptDrafts } from "../../src/viewer/browser/console/kept-drafts.js";
import { StyleDrafts } from "../../src/viewer/browser/console/style-drafts.js";
import { storageOf } from "./storage.support.js";

/** Drafts that the browser keeps. */

const kind = { prefix: "a:", isDraft: ({ text }: { text?: unknown }) => typeof text === "string" };

t.test("they are there again, but for what is none", (t) => {
  const texts = new Map([
    ["a:broken", "{"],
    ["a:other", '{"at":1}'],
    ["b:1", '{"text":"of something else"}'],
  ]);
  const storage = storageOf(texts);
  const drafts = new KeptDrafts<{ text: string }>(kind, storage);
  t.same(drafts.all("a:"), []);
  t.equal(drafts.put("a:1", { text: "one" }), true);
  t.same(new KeptDrafts<{ text: string }>(kind, storage).of("a:1"), { text: "one" });
  drafts.remove("a:1");
  t.equal(new KeptDrafts<{ text: string }>(kind, storage).of("a:1"), undefined);
  t.equal(texts.size, 3, "nothing else was touched");
  t.end();
});

t.test("what the browser does not keep is unsafe", (t) => {
  const small = storageOf(new Map(), 60);
  const drafts = new KeptDrafts<{ text: string }>(kind, small);
  t.equal(drafts.put("a:1", { text: "short" }), true);
  t.equal(drafts.isUnsafe, false);
  t.equal(drafts.put("a:1", { text: "long".repeat(20) }), false);
  t.equal(drafts.isUnsafe, true);
  t.same(
    new KeptDrafts<{ text: string }>(kind, small).of("a:1"),
    { text: "short" },
    "the last that had room",
  );
  drafts.remove("a:1");
  t.equal(drafts.isUnsafe, false);

  const nowhere = new KeptDrafts<{ text: string }>(kind, undefined);
  t.equal(nowhere.put("a:1", { text: "short" }), false);
  t.same(nowhere.of("a:1"), { text: "short" });
  t.equal(nowhere.isUnsafe, true);

  const shared = storageOf();
  const [mine, theirs] = [1, 2].map(() => new KeptDrafts<{ text: string }>(kind, shared));
  mine!.put("a:1", { text: "mine" });
  theirs!.put("a:1", { text: "theirs" });
  t.equal(mine!.isUnsafe, true, "another tab has stored its own");
  t.same(mine!.heard("a:1", shared.getItem("a:1")), { text: "theirs" });
  t.equal(mine!.isUnsafe, false);
  t.end();
});

t.test("styles are of their user, project and layer", (t) => {
  const storage = storageOf();
  let owner = { login: "me", project: "p" };
  const open = () => new StyleDrafts(() => owner, storage);
  const drafts = open();
  drafts.set(1, "#a {}", "#saved {}");
  drafts.set(2, "#saved {}", "#saved {}");
  t.equal(open().of(1), "#a {}");
  t.equal(open().of(2), undefined, "it is as it is saved");
  t.equal(open().isOvertaken(1, "#saved {}"), false);
  t.equal(open().isOvertaken(1, "#other {}"), true, "somebody has changed it since the draft was begun");
  for (const other of [
    { login: "you", project: "p" },
    { login: "me", project: "q" },
  ]) {
    owner = other;
    t.equal(drafts.of(1), undefined);
    t.equal(open().of(1), undefined);
  }
  owner = { login: "me", project: "p" };
  drafts.saved(1, "#older {}");
  t.equal(drafts.of(1), "#a {}", "what was written while it was saved");
  drafts.saved(1, "#a {}");
  t.equal(open().of(1), undefined);
  t.equal(storage.length, 0);
  t.end();
});

t.test("what another tab writes is taken, but for the layer that is looked at here", (t) => {
  const storage = storageOf();
  const open = () => new StyleDrafts(() => ({ login: "me", project: "p" }), storage);
  const [here, there] = [open(), open()];
  there.set(1, "#theirs {}", "");
  there.set(2, "#theirs {}", "");
  here.set(1, "#mine {}", "");
  for (const name of [...storage.texts.keys()]) here.heard(name, storage.getItem(name), 1);
  t.equal(here.of(1), "#mine {}");
  t.equal(here.of(2), "#theirs {}");
  here.heard("something else", "{}", 1);
  t.equal(here.isUnsafe, false);
  t.end();
});
