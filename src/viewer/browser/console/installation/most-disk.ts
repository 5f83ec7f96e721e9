import { h } from "../../dom.js";
import type { Translate } from "../../texts.js";

/** The field for the most that a project may take of the disks, in gigabytes; empty = as much as there is. */

const gigabyte = 1e9;

export interface MostDisk {
  readonly elements: readonly HTMLElement[];
  readonly input: HTMLInputElement;
  /** Bytes; null = as much as there is; undefined = what is there is no size. */
  read(): number | null | undefined;
}

export function mostDisk(t: Translate, bytes: number | null): MostDisk {
  const input = h("input", {
    ...{ class: "field", id: "most-disk", type: "number", min: "0", step: "any", inputmode: "decimal" },
    ...{ value: bytes === null ? "" : String(bytes / gigabyte), "aria-describedby": "most-disk-hint" },
  });
  return {
    input,
    elements: [
      h("label", { for: "most-disk" }, t("mostDisk")),
      input,
      h("p", { class: "hint", id: "most-disk-hint" }, t("mostDiskHint")),
    ],
    read: () => {
      // Of what is no number the value is empty, too.
      if (input.validity.badInput) return undefined;
      if (input.value === "") return null;
      const most = Math.round(input.valueAsNumber * gigabyte);
      return most >= 1 && Number.isSafeInteger(most) ? most : undefined;
    },
  };
}
