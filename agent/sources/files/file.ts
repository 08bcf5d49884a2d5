/** Source `file`: pods and objects from a manifest directory or a single file. Triggered by inotify, with a
 *  slow recheck as fallback. Publishes a snapshot when it differs from the last. Never writes files. */

import { join, resolve } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Waits } from '#api/kit/waits.ts';
import { isSameSet, joinSets, rejectedPlace } from '../last-good.ts';
import type { ManifestSet, PodSource, ReadManifests, SourceSink } from '../types.ts';
import { createWatching } from './file-follow.ts';
import { isIgnoredName, isIndirection } from './file-names.ts';
import { createFileTable } from './file-table.ts';
import { type PathChange, type WatchPath, watchPath } from './file-watch.ts';
import { createWriteWatch } from './writes-in-place.ts';

export interface FileSourceDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports a missing path as a wait. */
  readonly waits?: Pick<Waits, 'begin'>;
  readonly readManifests: ReadManifests;
  /** Defaults to inotify through chokidar. */
  readonly watchPath?: WatchPath;
}

export interface FileSourceOptions {
  /** Directory or single file; may not exist yet. */
  readonly path: string;
  /** Time between rechecks (`fileCheckFrequency`) in ms; not positive disables them. */
  readonly checkMs: number;
  /** Maximum size of a manifest in bytes. Default 3 MiB. */
  readonly maxBytes?: number;
  /** Time for which an invalid file is considered a partial write, in ms. Default 1000. */
  readonly graceMs?: number;
  /** Time within which a missing file may reappear, in ms. Default 250. */
  readonly goneMs?: number;
  /** Required pause of the writer of a file, in ms. Default 25. */
  readonly settleMs?: number;
}

const MAX_MANIFEST_BYTES = 3 * 1024 * 1024;
const RETRY_MS = 1000;

/** Checks requested since the last step. */
interface Requests {
  scan: boolean;
  /** An event named the path itself. */
  self: boolean;
  readonly paths: Set<string>;
}

export function createFileSource(deps: FileSourceDeps, options: FileSourceOptions): PodSource {
  return {
    name: 'file',
    run: (signal, sink) => createFileRun(deps, options, sink).run(signal),
  };
}

function createFileRun(
  deps: FileSourceDeps,
  options: FileSourceOptions,
  sink: SourceSink,
): { run(signal: AbortSignal): Promise<void> } {
  const { clock, log } = deps;
  const path = resolve(options.path);
  const { maxBytes = MAX_MANIFEST_BYTES, graceMs = 1000, goneMs = 250, settleMs = 25 } = options;
  const writes = createWriteWatch(settleMs, graceMs);
  const table = createFileTable(
    { clock, writes, readManifests: deps.readManifests },
    { path, maxBytes, graceMs, goneMs, settleMs },
  );
  const requests: Requests = { scan: true, self: false, paths: new Set() };
  const publish = createPublisher(sink, path, clock.monotonic() + 2 * graceMs);
  const { waits, watchPath: watch = watchPath } = deps;
  const watching = createWatching({ log, path, waits, watchPath: watch, onChange });
  let rescanAtMs = 0;

  function onChange(change: PathChange): void {
    if (change.kind === 'self') {
      if (change.inPlace) writes.note(path, clock.monotonic());
      requests.scan = true;
      requests.self = true;
    } else if (isIndirection(change.name)) {
      requests.scan = true;
    } else if (isIgnoredName(change.name)) {
      return;
    } else {
      const entry = join(path, change.name);
      if (change.inPlace) writes.note(entry, clock.monotonic());
      requests.paths.add(entry);
    }
    loop.wake();
  }

  async function scan(signal: AbortSignal): Promise<void> {
    const forced = requests.self;
    requests.scan = false;
    requests.self = false;
    rescanAtMs = clock.monotonic() + (options.checkMs > 0 ? options.checkMs : Number.POSITIVE_INFINITY);
    try {
      // Changes between the scan and a new watch would be missed, so watch first.
      await watching.follow();
      await table.scan(forced, signal);
      publish.recovered();
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      rescanAtMs = clock.monotonic() + RETRY_MS;
      const error = asError(thrown);
      if (publish.failed(error)) log.warn({ err: error, path }, 'Failed to read manifest path');
    }
  }

  async function step(signal: AbortSignal): Promise<number> {
    if (requests.scan || clock.monotonic() >= rescanAtMs) await scan(signal);
    const nowMs = clock.monotonic();
    const due = table.due().filter(({ atMs }) => atMs <= nowMs);
    const paths = new Set([...requests.paths, ...due.map((entry) => entry.path)]);
    requests.paths.clear();
    if (paths.size > 0) await table.check(paths, signal);
    publish.content(table.sets(), table.undecided(), clock.monotonic());
    const nextMs = Math.min(rescanAtMs, ...table.due().map(({ atMs }) => atMs));
    return clock.now() + Math.min(nextMs - clock.monotonic(), 2 ** 31);
  }

  const loop = createLoop({
    clock,
    step,
    onError: (error) => log.error({ err: error, path }, 'Manifest scan failed'),
    retryMs: RETRY_MS,
  });

  return {
    async run(signal) {
      loop.wake();
      try {
        await loop.run(signal);
      } finally {
        await watching.close();
      }
    },
  };
}

interface Publisher {
  /** Publishes a snapshot if it differs from the last. The first one waits until no file is undecided. */
  content(sets: readonly ManifestSet[], undecided: boolean, nowMs: number): void;
  recovered(): void;
  /** @returns whether the snapshot is new */
  failed(error: Error): boolean;
}

/** @param deadlineMs when the first snapshot is published despite undecided files (monotonic) */
function createPublisher(sink: SourceSink, path: string, deadlineMs: number): Publisher {
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
