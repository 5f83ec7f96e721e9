/** Lets the browser save what an address has. @param name "" = as the answer says */
export function saveFile(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.rel = "noreferrer";
  link.className = "off-screen";
  document.body.append(link);
  link.click();
  link.remove();
}

/** Lets the browser save bytes. */
export function saveBytes(bytes: Blob, name: string): void {
  const address = URL.createObjectURL(bytes);
  saveFile(address, name);
  // The browser has begun to read it by then.
  window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
