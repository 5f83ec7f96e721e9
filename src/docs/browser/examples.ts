/** The examples of a page: with the address of the server that shows it, and a button that copies what one types. */

/** The server of the examples, as they are written and tested. */
const written = /http:\/\/localhost:8080(?=[/\s"'`]|$)/g;

/** These pages tell of what only the server's own machine reaches. */
const isOfTheMachine = /\/docs\/operating\//;

/** Puts this server in place of that of the examples, so that they work as they stand there. */
export function showOwnAddress(root: string): void {
  if (isOfTheMachine.test(location.pathname)) return;
  const own = new URL(`${root}..`, location.href).href.replace(/\/$/, "");
  for (const code of document.querySelectorAll("article code")) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (text.nodeValue?.includes("localhost:8080")) text.nodeValue = text.nodeValue.replace(written, own);
    }
    if (code.parentElement?.tagName !== "PRE" && code.textContent.startsWith(`${own}/#`)) linkTo(code);
  }
}

/** An address of the viewer is there to be opened. */
function linkTo(code: Element): void {
  const link = document.createElement("a");
  link.href = code.textContent;
  code.replaceWith(link);
  link.append(code);
}

/** What somebody types of a block: lines that begin with `#` show the answers of commands. */
function typed(code: HTMLElement): string {
  const text = code.textContent;
  return code.classList.contains("language-sh") ? text.replace(/^#.*\n/gm, "") : text;
}

/** A button in the corner of each block that somebody types or saves. */
export function addCopyButtons(): void {
  for (const code of document.querySelectorAll<HTMLElement>("pre > code:not(.language-text)")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(typed(code));
        button.textContent = "Copied";
      } catch {
        // Browsers refuse it to pages without HTTPS: the reader presses Ctrl-C.
        getSelection()?.selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => {
        button.textContent = "Copy";
      }, 2_000);
    });
    const block = document.createElement("div");
    block.className = "block";
    const pre = code.parentElement!;
    pre.replaceWith(block);
    block.append(pre, button);
  }
}
