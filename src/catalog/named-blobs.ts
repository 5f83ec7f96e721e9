/** Where the database names blobs: all tables and columns that do. */
const places = [
  { table: "file", columns: ["uuid"] },
  { table: "raster", columns: ["original", "processed", "drawn"] },
  { table: "picture", columns: ["blob"] },
  { table: "font", columns: ["blob"] },
] as const;

/** SQL of all keys that rows name, in order. */
export const namedBlobsSql = `${places
  .flatMap(({ table, columns }) =>
    columns.map((column) => `select ${column} as key from ${table} where ${column} is not null`),
  )
  .join(" union ")} order by key`;

/** SQL of a condition: no row names the key in this expression. */
export const isUnnamedSql = (key: string): string =>
  places
    .map(
      ({ table, columns }) =>
        `not exists (select from ${table} p where ${key} in (${columns.map((column) => `p.${column}`).join(", ")}))`,
    )
    .join(" and ");
