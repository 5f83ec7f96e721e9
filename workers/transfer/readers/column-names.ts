/** Names for the columns of a table, all different: `column_3` for one without a name, `name_2` for a second `name`. */
export function columnNames(header: readonly (string | null)[]): string[] {
  const used = new Set<string>();
  const given = new Set(header.map((name) => name?.trim() ?? ""));
  return header.map((cell, index) => {
    const own = cell?.trim() || `column_${index + 1}`;
    let name = own;
    for (let next = 2; used.has(name) || (name !== own && given.has(name)); next++) name = `${own}_${next}`;
    used.add(name);
    return name;
  });
}
