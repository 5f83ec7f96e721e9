/** Style sheets of parts that are loaded when they are first opened; they lie beside the script. */

const loaded = new Map<string, Promise<void>>();

/** @param name of the style sheet, without its ending */
export function loadStyles(name: string): Promise<void> {
  const known = loaded.get(name);
  if (known) return known;
  const loading = new Promise<void>((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(`${name}.css`, import.meta.url).href;
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      link.remove();
      loaded.delete(name);
      reject(new Error("the styles could not be loaded"));
    });
    document.head.append(link);
  });
  loaded.set(name, loading);
  // Told where it is waited for, if the script comes.
  loading.catch(() => undefined);
  return loading;
}
