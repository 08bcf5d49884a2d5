/** Durations of the test files in past runs, stored in `.cache/`: for the list of the slowest files, and to choose those
 *  that fit into a time. */
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
}

const FOLDER = join(ROOT, '.cache');
const path = (): string =>
  join(FOLDER, ofRound({ short: 'test-durations.tsv', long: 'test-durations-long.tsv' }));

export const formatDurations = (durations: readonly Duration[]): string =>
  durations
    .map(({ project, file, ms, endedMs }) => `${project}\t${file}\t${Math.round(ms)}\t${endedMs}\n`)
    .join('');

/** Returns the durations of a text; other lines are ignored. */
export function parseDurations(text: string): readonly Duration[] {
  return text.split('\n').flatMap((line) => {
    const [project = '', file = '', ms = '', endedMs = ''] = line.split('\t');
    const duration = { project, file, ms: Number(ms), endedMs: Number(endedMs) };
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
