/** What a driver of the tests is told at its start, and how it is talked to while it runs. */
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface TestDriverOptions {
  readonly name: string;
  /** Folder in which it puts the socket by which it registers. */
  readonly registryDir: string;
  /** Its volumes, its socket, its list of calls, and what it is told to do wrong. */
  readonly dataDir: string;
  readonly nodeID?: string;
  readonly topology?: Readonly<Record<string, string>>;
  readonly maxVolumes?: number;
  readonly versions?: readonly string[];
  readonly type?: string;
  /** Of the node service, such as `STAGE_UNSTAGE_VOLUME`. */
  readonly capabilities?: readonly string[];
}

/** What it does at the next call of a method, once. */
export interface Misdeed {
  readonly method: string;
  /** `before` and `after`: it kills itself before or after it did its work. */
  readonly deed: 'fail' | 'before' | 'after';
  readonly code?: number;
  readonly message?: string;
}

/** One call, as it came; 64-bit numbers as texts. */
export interface RecordedCall {
  readonly method: string;
  readonly request: Readonly<Record<string, unknown>>;
}

export const callsFile = (dataDir: string): string => join(dataDir, 'calls.jsonl');
export const misdeedFile = (dataDir: string): string => join(dataDir, 'misdeed.json');
/** Its presence means that volumes are in a bad way; the content is why. */
export const conditionFile = (dataDir: string): string => join(dataDir, 'condition');
export const registeredFile = (dataDir: string): string => join(dataDir, 'registered.jsonl');

export const note = (file: string, line: unknown): Promise<void> =>
  appendFile(
    file,
    `${JSON.stringify(line, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}\n`,
  );

/** What the test wrote for the driver, or the driver for the test. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion, typescript/no-unnecessary-type-parameters -- both are of the same source
export const readOwn = <T>(text: string): T => JSON.parse(text) as T;

/** Whole lines of a list that may not be there yet, and that the driver may be adding to. */
export async function readNotes<T>(file: string): Promise<readonly T[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => readOwn<T>(line));
}
