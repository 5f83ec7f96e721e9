/** Storage of a browser with room for so many letters. */
export function storageOf(texts = new Map<string, string>(), room = Infinity) {
  return {
    texts,
    get length() {
      return texts.size;
    },
    key: (at: number) => [...texts.keys()][at] ?? null,
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => {
      if (text.length > room) throw new Error("there is no room");
      texts.set(name, text);
    },
    removeItem: (name: string) => texts.delete(name),
  };
}
