/** Publishes snapshots of the manifest files when they change. */
import { isSameSet, joinSets, rejectedPlace } from '../last-good.ts';
import type { ManifestSet, SourceSink } from '../types.ts';

export interface Publisher {
  /** Publishes a snapshot if it differs from the last. The first one waits until no file is undecided. */
  content(sets: readonly ManifestSet[], undecided: boolean, nowMs: number): void;
  recovered(): void;
  /** @returns whether the snapshot is new */
  failed(error: Error): boolean;
}

/** @param deadlineMs when the first snapshot is published despite undecided files (monotonic) */
export function createPublisher(sink: SourceSink, path: string, deadlineMs: number): Publisher {
  let problem: ManifestSet | undefined;
  /** The path was read at least once. */
  let known = false;
  let last: { readonly set: ManifestSet; readonly partial: boolean } | undefined;
  return {
    content(sets, undecided, nowMs) {
      // A partially written file during startup must not look like a removed pod.
      if ((last === undefined || last.partial) && undecided && nowMs < deadlineMs) return;
      const set = joinSets([...sets, ...(problem === undefined ? [] : [problem])]);
      const partial = !known;
      if (last !== undefined && last.partial === partial && isSameSet(last.set, set)) return;
      last = { set, partial };
      sink({ source: 'file', ...set, ...(partial ? { partial } : {}) });
    },
    recovered() {
      problem = undefined;
      known = true;
    },
    failed(error) {
      const set = rejectedPlace({ source: 'file', location: path }, `cannot be listed: ${error.message}`);
      const news = problem?.rejected[0]?.errors[0]?.detail !== set.rejected[0]?.errors[0]?.detail;
      if (news) problem = set;
      return news;
    },
  };
}
