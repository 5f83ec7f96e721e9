/** Answers as the README shows them. */

/**
 * Whether a text is the shown one, in which `…` stands for a value, for further members or elements, or for a part of a
 * text. JSON is compared as such, in one piece or line by line; anything else letter by letter.
 */
export function isAnswer(shown: string, text: string): boolean {
  const whole = patternOf(shown);
  if (whole !== undefined) return isLike(whole, jsonOf(text));
  const lines = text.trim().split("\n");
  const wanted = shown.trim().split("\n");
  return (
    lines.length === wanted.length &&
    wanted.every((line, at) => {
      const pattern = patternOf(line);
      return pattern === undefined
        ? isLikeText(line.trim(), lines[at]!)
        : isLike(pattern, jsonOf(lines[at]!));
    })
  );
}

const left = "…";

/** The shown text as JSON: each `…` outside of strings becomes a string, or a member whose name begins with it. */
function patternOf(shown: string): unknown {
  let members = 0;
  const tokens = shown.replace(/"(?:[^"\\]|\\.)*"|…(?=\s*[,}\]])/g, (token, at: number) => {
    if (token !== left) return token;
    return /:\s*$/.test(shown.slice(0, at)) || !isInObject(shown, at)
      ? `"${left}"`
      : `"${left}${members++}":0`;
  });
  return jsonOf(tokens);
}

/** Whether what stands at a place of a JSON text is a member of an object, else it is an element. */
function isInObject(text: string, at: number): boolean {
  let open = "";
  for (const [token] of text.slice(0, at).matchAll(/"(?:[^"\\]|\\.)*"|[[{}\]]/g)) {
    if (token === "{" || token === "[") open += token;
    else if (token === "}" || token === "]") open = open.slice(0, -1);
  }
  return open.endsWith("{");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isLikeText = (pattern: string, text: string): boolean => {
  const parts = pattern.split(left).map((part) => part.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&"));
  return new RegExp(`^${parts.join("[\\s\\S]*")}$`).test(text);
};

/** An element `…` at the end of an array stands for any number of them, elsewhere for one. */
function isLike(pattern: unknown, value: unknown): boolean {
  if (pattern === left) return value !== undefined;
  if (typeof pattern === "string") return typeof value === "string" && isLikeText(pattern, value);
  if (typeof pattern !== "object" || pattern === null) return pattern === value;
  if (typeof value !== "object" || value === null || Array.isArray(pattern) !== Array.isArray(value))
    return false;
  const [wanted, given] = [Object.entries(pattern), Object.entries(value)];
  const named = wanted.filter(
    ([name, part]) => !(Array.isArray(pattern) ? part === left : name.startsWith(left)),
  );
  const isOpen = Array.isArray(pattern) ? pattern.at(-1) === left : named.length < wanted.length;
  if (!isOpen && given.length !== wanted.length) return false;
  return named.every(([name, part]) => Object.hasOwn(value, name) && isLike(part, Reflect.get(value, name)));
}
