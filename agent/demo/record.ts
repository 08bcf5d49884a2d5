/** Record of the runtime in use, written by a start for `--stop`. */
import { readFile, writeFile } from 'node:fs/promises';

export interface ExternalRuntime {
  readonly kind: 'cri' | 'docker';
  /** `unix://…` */
  readonly endpoint: string;
}

export interface DemoRecord {
  readonly version: 1;
  /** Undefined for the managed containerd. */
  readonly external: ExternalRuntime | undefined;
}

export async function writeRecord(path: string, external: ExternalRuntime | undefined): Promise<void> {
  await writeFile(path, `${JSON.stringify({ version: 1, ...external })}\n`, { mode: 0o600 });
}

/** Returns undefined without a record, or with one of an unknown version. */
export async function readRecord(path: string): Promise<DemoRecord | undefined> {
  try {
    return parseRecord(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // Never started, or a torn file after a crash: assume no external runtime.
    return undefined;
  }
}

function parseRecord(value: unknown): DemoRecord | undefined {
  if (typeof value !== 'object' || value === null || !('version' in value) || value.version !== 1)
    return undefined;
  const endpoint = 'endpoint' in value && typeof value.endpoint === 'string' ? value.endpoint : undefined;
  if (endpoint === undefined) return { version: 1, external: undefined };
  // Records without a kind are of releases that knew no docker.
  const kind = 'kind' in value && value.kind === 'docker' ? 'docker' : 'cri';
  return { version: 1, external: { kind, endpoint } };
}
