/** Rows in columns for a terminal, each as wide as its widest cell; the last one is not padded. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows];
  const widths = head.map((_, i) => Math.max(...lines.map((line) => [...(line[i] ?? "")].length)));
  return lines
    .map((line) =>
      line
        .map((cell, i) => (i === head.length - 1 ? cell : cell + " ".repeat(widths[i]! - [...cell].length)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
