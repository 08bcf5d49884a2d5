/** Durations and outcomes of the test files in past runs, stored in `.cache/`: for the list of the slowest files, to choose
 *  those that fit into a time, and to repeat those that failed. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ofRound } from './rounds.ts';

export const ROOT: string = join(import.meta.dirname, '..');

export interface Duration {
  readonly project: string;
  readonly file: string;
  readonly ms: number;
  /** When it ended, in ms since 1970. */
  readonly endedMs: number;
  readonly hasFailed: boolean;
}

const FAILED = 'failed';

const FOLDER = join(ROOT, '.cache');
const path = (): string =>
  join(FOLDER, ofRound({ short: 'test-durations.tsv', long: 'test-durations-long.tsv' }));

export const formatDurations = (durations: readonly Duration[]): string =>
  durations
    .map(({ project, file, ms, endedMs, hasFailed }) =>
      [project, file, Math.round(ms), endedMs, ...(hasFailed ? [FAILED] : [])].join('\t').concat('\n'),
    )
    .join('');

/** Returns the durations of a text; other lines are ignored. */
export function parseDurations(text: string): readonly Duration[] {
  return text.split('\n').flatMap((line) => {
    const [project = '', file = '', ms = '', endedMs = '', outcome] = line.split('\t');
    const duration = {
      project,
      file,
      ms: Number(ms),
      endedMs: Number(endedMs),
      hasFailed: outcome === FAILED,
    };
    return file !== '' && endedMs !== '' && Number.isFinite(duration.ms + duration.endedMs) ? [duration] : [];
  });
}

/** Returns the last known duration of each file, none before the first run. */
export function readDurations(): readonly Duration[] {
  try {
    return parseDurations(readFileSync(path(), 'utf8'));
  } catch {
    return [];
  }
}

/** Replaces the durations of the same files. */
export function recordDurations(durations: readonly Duration[]): void {
  const key = ({ project, file }: Duration): string => `${project} ${file}`;
  const all = new Map([...readDurations(), ...durations].map((each) => [key(each), each]));
  mkdirSync(FOLDER, { recursive: true });
  const temporary = `${path()}.${process.pid}`;
  writeFileSync(temporary, formatDurations([...all.values()]));
  renameSync(temporary, path());
}

/** Returns the slowest files that ended at that time or later. */
export const slowestSince = (
  durations: readonly Duration[],
  sinceMs: number,
  count: number,
): readonly Duration[] =>
  durations
    .filter(({ endedMs }) => endedMs >= sinceMs)
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, count);

/** Returns the files of a project that failed at that time or later. */
export const failedSince = (
  durations: readonly Duration[],
  project: string,
  sinceMs: number,
): readonly string[] =>
  durations
    .filter((each) => each.hasFailed && each.project === project && each.endedMs >= sinceMs)
    .map(({ file }) => file)
    .toSorted();
