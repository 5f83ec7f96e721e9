/** Whether lengths and areas are told in metric or imperial units: as in the reader's country, until another choice is made. */

const storageKey = "mapwright.units";

export class Units {
  private imperial = remembered() ?? /-(US|LR|MM)$/i.test(navigator.language);
  private readonly listeners: (() => void)[] = [];

  get isImperial(): boolean {
    return this.imperial;
  }

  /** @param listener is called after each choice */
  whenChosen(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** The browser remembers it. */
  choose(imperial: boolean): void {
    this.imperial = imperial;
    try {
      localStorage.setItem(storageKey, imperial ? "imperial" : "metric");
    } catch {
      // Without storage it is forgotten with the page.
    }
    for (const listener of this.listeners) listener();
  }
}

function remembered(): boolean | undefined {
  try {
    const chosen = localStorage.getItem(storageKey);
    return chosen === null ? undefined : chosen === "imperial";
  } catch {
    // Storage is disabled.
    return undefined;
  }
}
