/** State machine of one manifest file. Pure; times are monotonic milliseconds.
 *
 *  A complete and valid result becomes effective at once. An invalid one is first considered a partial write:
 *  for `graceMs` nothing changes, then the errors are reported and the valid parts are used together with the
 *  last good version of the rest. A missing file counts as removed after `goneMs`, so that an editor which
 *  moves the old file away before it writes the new one stops no pods. */
import { EMPTY_SET, keepLastGood } from '../last-good.ts';
import type { ManifestSet } from '../types.ts';

export interface FileTimes {
  /** Time for which an invalid file is considered a partial write. */
  readonly graceMs: number;
  /** Time within which a missing file may reappear. */
  readonly goneMs: number;
}

export type FileCheck =
  /** Not read, because nothing about the file changed since the last check. */
  | { readonly kind: 'same' }
  | { readonly kind: 'missing' }
  /** `ageMs`: time since the last write to the file, by its own timestamp. */
  | { readonly kind: 'read'; readonly set: ManifestSet; readonly ageMs: number };

export interface FileState {
  /** The effective content, which goes into the snapshot. */
  readonly shown: ManifestSet;
  /** Invalid content that is not effective yet, and until when. */
  readonly held?: { readonly set: ManifestSet; readonly untilMs: number };
  /** When a missing file counts as removed. */
  readonly goneAtMs?: number;
}

function faulty(
  previous: FileState | undefined,
  set: ManifestSet,
  untilMs: number,
  nowMs: number,
): FileState {
  const last = previous?.shown;
  if (nowMs >= untilMs) return { shown: keepLastGood(last, set) };
  return { shown: last ?? EMPTY_SET, held: { set, untilMs } };
}

/** Returns the state of the file after a check. @returns undefined when the file is removed */
export function decideFile(
  previous: FileState | undefined,
  check: FileCheck,
  nowMs: number,
  times: FileTimes,
): FileState | undefined {
  switch (check.kind) {
    case 'missing': {
      if (previous === undefined) return undefined;
      const goneAtMs = previous.goneAtMs ?? nowMs + times.goneMs;
      return nowMs >= goneAtMs ? undefined : { shown: previous.shown, goneAtMs };
    }
    case 'read': {
      if (check.set.rejected.length === 0) return { shown: check.set };
      // A clock set back makes the file check younger than it is, never older.
      const ageMs = Math.min(Math.max(check.ageMs, 0), times.graceMs);
      const untilMs = previous?.held?.untilMs ?? nowMs - ageMs + times.graceMs;
      return faulty(previous, check.set, untilMs, nowMs);
    }
    case 'same': {
      if (previous === undefined) return undefined;
      const { held, shown } = previous;
      return held === undefined ? { shown } : faulty(previous, held.set, held.untilMs, nowMs);
    }
    default:
      throw new Error(check satisfies never);
  }
}

/** Returns when the state needs another check without an event. */
export function nextCheckMs(state: FileState): number | undefined {
  return state.goneAtMs ?? state.held?.untilMs;
}
