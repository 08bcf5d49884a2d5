/** Options of the test driver, and the files through which tests communicate with it. */
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface TestDriverOptions {
  readonly name: string;
  /** Directory of its registration socket. */
  readonly registryDir: string;
  /** Contains its volumes, its socket, its recorded calls, and the errors to inject. */
  readonly dataDir: string;
  readonly nodeID?: string;
  readonly topology?: Readonly<Record<string, string>>;
  readonly maxVolumes?: number;
  readonly versions?: readonly string[];
  readonly type?: string;
  /** Capabilities of the node service, such as `STAGE_UNSTAGE_VOLUME`. */
  readonly capabilities?: readonly string[];
}

/** An error injected once, into the next call of a method. */
export interface Misdeed {
  readonly method: string;
  /** `before` and `after`: the driver kills itself before or after doing the work. */
  readonly deed: 'fail' | 'before' | 'after';
  readonly code?: number;
  readonly message?: string;
}

/** One recorded call; 64-bit numbers as strings. */
export interface RecordedCall {
  readonly method: string;
  readonly request: Readonly<Record<string, unknown>>;
}

export const callsFile = (dataDir: string): string => join(dataDir, 'calls.jsonl');
export const misdeedFile = (dataDir: string): string => join(dataDir, 'misdeed.json');
/** The file's presence marks volumes as abnormal; its content is the message. */
export const conditionFile = (dataDir: string): string => join(dataDir, 'condition');
export const registeredFile = (dataDir: string): string => join(dataDir, 'registered.jsonl');

/** Of the value itself: where numbers of 64 bits have a JSON form, what comes here is that. */
function wideAsText(this: object, key: string, value: unknown): unknown {
  const own: unknown = Reflect.get(this, key);
  return typeof own === 'bigint' ? String(own) : value;
}

export const note = (file: string, line: unknown): Promise<void> =>
  appendFile(file, `${JSON.stringify(line, wideAsText)}\n`);

/** Parses a file written by the test or the driver. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion, typescript/no-unnecessary-type-parameters -- both are of the same source
export const readOwn = <T>(text: string): T => JSON.parse(text) as T;

/** Returns the complete lines of a file that may not exist yet, and that the driver may be appending to. */
export async function readNotes<T>(file: string): Promise<readonly T[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => readOwn<T>(line));
}
