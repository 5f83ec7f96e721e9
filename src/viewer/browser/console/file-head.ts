/** The first so many bytes of a text tell what it is. */
const headBytes = 65_536;

/** The whole lines at the beginning of a file; the file itself, when it is short. */
export async function headOf(file: File): Promise<File> {
  if (file.size <= headBytes) return file;
  const bytes = new Uint8Array(await file.slice(0, headBytes).arrayBuffer());
  // A character of UTF-16 has two bytes.
  const end = bytes.lastIndexOf(10) + (bytes[0] === 0xff && bytes[1] === 0xfe ? 2 : 1);
  return new File([bytes.slice(0, end > 2 ? end : headBytes)], file.name);
}
