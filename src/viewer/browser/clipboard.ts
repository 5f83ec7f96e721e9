/** Copies text to the clipboard; false when the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // navigator.clipboard requires HTTPS; execCommand works in a click handler.
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
