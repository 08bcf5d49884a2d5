/** What one manifest file counts for after each look at it. Pure; times are monotonic milliseconds.
 *
 *  A look that finds the file whole and valid is believed at once. A faulty look is first held to be a file
 *  half written: for `graceMs` everything stays as it was, then the faults are reported and what can be used
 *  is used beside the last good rest. A missing file counts as gone after `goneMs`, so that an editor which moves the
 *  old file away before it writes the new one stops nothing. */
import { EMPTY_SET, keepLastGood } from './keep-good.ts';
import type { ManifestSet } from './types.ts';

export interface FileTimes {
  /** How long a faulty file is held to be half written. */
  readonly graceMs: number;
  /** How long a missing file may come back. */
  readonly goneMs: number;
}

export type FileLook =
  /** Not read, because nothing about the file changed since the last look. */
  | { readonly kind: 'same' }
  | { readonly kind: 'missing' }
  /** `ageMs`: time since the last write to the file, by its own timestamp. */
  | { readonly kind: 'read'; readonly set: ManifestSet; readonly ageMs: number };

export interface FileState {
  /** What the file gives now: goes into the snapshot. */
  readonly shown: ManifestSet;
  /** Content that is faulty and not believed yet, and until when. */
  readonly held?: { readonly set: ManifestSet; readonly untilMs: number };
  /** When a missing file counts as gone. */
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

/** The file's state after a look. @returns undefined when the file is gone */
export function decideFile(
  previous: FileState | undefined,
  look: FileLook,
  nowMs: number,
  times: FileTimes,
): FileState | undefined {
  switch (look.kind) {
    case 'missing': {
      if (previous === undefined) return undefined;
      const goneAtMs = previous.goneAtMs ?? nowMs + times.goneMs;
      return nowMs >= goneAtMs ? undefined : { shown: previous.shown, goneAtMs };
    }
    case 'read': {
      if (look.set.rejected.length === 0) return { shown: look.set };
      // A clock set back makes the file look younger than it can be, never older.
      const ageMs = Math.min(Math.max(look.ageMs, 0), times.graceMs);
      const untilMs = previous?.held?.untilMs ?? nowMs - ageMs + times.graceMs;
      return faulty(previous, look.set, untilMs, nowMs);
    }
    case 'same': {
      if (previous === undefined) return undefined;
      const { held, shown } = previous;
      return held === undefined ? { shown } : faulty(previous, held.set, held.untilMs, nowMs);
    }
    default:
      throw new Error(look satisfies never);
  }
}

/** When the state wants another look, though no event asks for one. */
export function nextLookMs(state: FileState): number | undefined {
  return state.goneAtMs ?? state.held?.untilMs;
}
