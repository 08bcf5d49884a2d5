/** What a start leaves for `--stop`: which runtime it used. */
import { readFile, writeFile } from 'node:fs/promises';

export interface DemoRecord {
  readonly version: 1;
  /** `unix://…` of a runtime that is not the demo's own; undefined for the managed containerd. */
  readonly endpoint: string | undefined;
}

export async function writeRecord(path: string, endpoint: string | undefined): Promise<void> {
  await writeFile(path, `${JSON.stringify({ version: 1, endpoint })}\n`, { mode: 0o600 });
}

/** Undefined when there is none, or none that this version understands. */
export async function readRecord(path: string): Promise<DemoRecord | undefined> {
  try {
    return parseRecord(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    // Never started, or a torn file of a crash: nothing is known of another runtime.
    return undefined;
  }
}

function parseRecord(value: unknown): DemoRecord | undefined {
  if (typeof value !== 'object' || value === null || !('version' in value) || value.version !== 1)
    return undefined;
  const endpoint = 'endpoint' in value && typeof value.endpoint === 'string' ? value.endpoint : undefined;
  return { version: 1, endpoint };
}
