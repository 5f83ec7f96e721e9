/** Puts a text on the clipboard; false when the browser does not let us. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without HTTPS there is no navigator.clipboard; the old way works from a press of a button.
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "off-screen";
  field.readOnly = true;
  const host = document.querySelector("dialog[open]") ?? document.body;
  const focused = document.activeElement;
  host.append(field);
  field.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    field.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}
