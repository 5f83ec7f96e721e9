import { join } from "node:path";
import ts from "typescript";

/** Manifests beside what Kubernetes knows: its schemas, which let unknown keys be, and the types made of them, which do not. */

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** What the schemas of Kubernetes say against manifests. */
export async function schemaProblems(manifests: readonly Manifest[]): Promise<string[]> {
  const problems: string[] = [];
  for (const manifest of manifests) {
    const models = await import(`kubernetes-models/${manifest.apiVersion}`);
    try {
      new models[manifest.kind](manifest).validate();
    } catch (error) {
      problems.push(`${manifest.kind}: ${(error as Error).message}`);
    }
  }
  return problems;
}

/** What has no place in the types of Kubernetes. */
export function unknownKeys(manifests: readonly Manifest[]): string[] {
  const file = join(process.cwd(), "manifests.ts");
  const text = manifests
    .map(
      ({ apiVersion, kind, ...rest }, at) =>
        `import type { I${kind} as T${at} } from "kubernetes-models/${apiVersion}";\n` +
        `export const m${at}: Omit<T${at}, "apiVersion" | "kind"> = ${JSON.stringify(rest)};\n`,
    )
    .join("");
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [] },
    ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    target: ts.ScriptTarget.ES2022,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (path) => path === file || fileExists(path);
  host.getSourceFile = (path, ...more) =>
    path === file ? ts.createSourceFile(path, text, more[0]) : getSourceFile.call(host, path, ...more);
  const program = ts.createProgram([file], options, host);
  return ts
    .getPreEmitDiagnostics(program, program.getSourceFile(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}
