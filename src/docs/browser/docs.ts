import MiniSearch from "minisearch";
import { type Found, findPages, type Part, searchOptions } from "../search.js";
import { addCopyButtons, showOwnAddress } from "./examples.js";

/** The script of the documentation: its search, its examples, and contents that fold on small screens. */

const { root = "", index: indexAddress = "" } = document.body.dataset;

let loading: Promise<MiniSearch<Part>> | undefined;
const load = (): Promise<MiniSearch<Part>> => {
  loading ??= fetch(indexAddress)
    .then((answer) => answer.text())
    .then((text) => MiniSearch.loadJSON<Part>(text, searchOptions));
  loading.catch(() => {
    loading = undefined;
  });
  return loading;
};

function startSearch(form: HTMLFormElement, input: HTMLInputElement, list: HTMLElement): void {
  input.hidden = false;
  let chosen = -1;
  const rows = () => [...list.querySelectorAll<HTMLAnchorElement>("a")];
  const choose = (at: number) => {
    const all = rows();
    chosen = all.length === 0 ? -1 : (at + all.length) % all.length;
    for (const [number, row] of all.entries()) row.classList.toggle("chosen", number === chosen);
    all[chosen]?.scrollIntoView({ block: "nearest" });
  };
  const close = () => {
    list.hidden = true;
    chosen = -1;
  };
  const show = (found: readonly Found[]) => {
    const parts = found.map(({ address, title, heading }) => {
      const row = document.createElement("a");
      const [page, fragment] = address.split("#");
      row.href = `${root}${page}/${fragment ? `#${fragment}` : ""}`;
      row.append(title);
      const small = document.createElement("small");
      small.textContent = heading || (page?.split("/")[0] ?? "").replace("-", " ");
      row.append(small);
      return row;
    });
    if (parts.length === 0) {
      const none = document.createElement("p");
      none.textContent = "Nothing found. Try another word for it.";
      list.replaceChildren(none);
    } else list.replaceChildren(...parts);
    list.hidden = false;
    choose(0);
  };
  const search = async () => {
    const question = input.value.trim();
    if (question === "") return close();
    try {
      const index = await load();
      // Typed on meanwhile: the later search shows.
      if (question === input.value.trim()) show(findPages(index, question));
    } catch {
      const failed = document.createElement("p");
      failed.textContent = "The search could not be loaded.";
      list.replaceChildren(failed);
      list.hidden = false;
    }
  };
  input.addEventListener("focus", () => void load().catch(() => undefined));
  input.addEventListener("input", () => void search());
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Escape") close();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const row = rows()[Math.max(chosen, 0)];
    if (row) location.href = row.href;
    close();
  });
  document.addEventListener("click", ({ target }) => {
    if (target instanceof Node && !form.contains(target)) close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target !== document.body) return;
    event.preventDefault();
    input.focus();
  });
}

const form = document.querySelector<HTMLFormElement>("form.search");
const input = form?.querySelector("input");
const list = form?.querySelector<HTMLElement>(".results");
if (form && input && list) startSearch(form, input, list);

const contents = document.querySelector<HTMLDetailsElement>("nav.contents details.all");
if (contents) contents.open = window.matchMedia("(min-width: 900px)").matches;

showOwnAddress(root);
addCopyButtons();
