/** Tracker of volumes that are attached to the node before pods mount them, and in use while a pod may have
 *  them mounted. The node reports their names, so that no controller detaches them meanwhile:
 *
 *      desired by a pod ─▶ in use ─▶ reported ─▶ mounted ─▶ … ─▶ unmounted ─▶ no longer in use
 *
 *  Volumes reported before this process started stay reported until each pod left on disk has been checked
 *  again.
 *  Source: upstream's volume manager (`GetVolumesInUse`, `MarkVolumesAsReportedInUse`), release 1.24. */

import { type Clock, sleep } from '#api/kit/clock.ts';
import { createListeners, type Listeners } from '#api/kit/listeners.ts';
import { type AttachableSource, attachableVolumeName } from '#api/meta/volume-names.ts';
import type { VolumeHost, VolumesInUse } from '../contract/volume-manager.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

/** How long a mount waits for the report to the server; then it is retried. */
const REPORT_TIMEOUT_MS = 20_000;

export interface UseTracker extends VolumesInUse {
  /** Marks a volume of a pod as in use if it is attachable. Resolves when it may be mounted.
   *  @throws VolumeSetupError if the node could not report it in time; the signal's reason */
  use(podUID: string, source: AttachableSource, signal: AbortSignal): Promise<void>;
  /** Marks an attachable volume of a pod as in use, and waits for its attachment if an API server exists.
   *  @returns the device path of the attachment, if it has one
   *  @throws VolumeSetupError if it is not attached in time; the signal's reason */
  whenAttached(podUID: string, name: string, signal: AbortSignal): Promise<string | undefined>;
  /** The desired volumes of the pod are known. */
  checked(podUID: string): void;
  /** Nothing of the pod is mounted. */
  release(podUID: string): void;
}

export interface UseTrackerDeps extends Pick<VolumeHost, 'clock' | 'vocabulary' | 'reportsVolumes'> {
  /** Pods that currently have directories. */
  readonly podsOnDisk: () => Promise<readonly string[]>;
}

interface Awaited<T> {
  readonly clock: Clock;
  /** Notified when `find` may succeed. */
  readonly changes: Listeners;
  readonly find: () => T | undefined;
  /** Error message on timeout. */
  readonly late: string;
}

/** @throws VolumeSetupError on timeout; the signal's reason */
async function waitFor<T>({ clock, changes, find, late }: Awaited<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const check = (): void => {
    const found = find();
    if (found !== undefined) resolve(found);
  };
  const enough = new AbortController();
  changes.add(check);
  check();
  try {
    const patience = sleep(clock, REPORT_TIMEOUT_MS, AbortSignal.any([signal, enough.signal]));
    patience.catch(() => undefined);
    const tooLate = patience.then(() => {
      throw new VolumeSetupError(late);
    });
    return await Promise.race([promise, tooLate]);
  } finally {
    changes.delete(check);
    enough.abort(new Error('it has been found'));
  }
}

export function createUseTracker({
  clock,
  vocabulary,
  reportsVolumes = false,
  podsOnDisk,
}: UseTrackerDeps): UseTracker {
  const used = new Map<string, Set<string>>();
  const listeners = createListeners('volumes in use');
  const reports = createListeners('volumes in use');
  let known: ReadonlySet<string> = new Set();
  /** Device paths of attached volumes by name; empty if unknown. */
  let attachments: ReadonlyMap<string, string> = new Map();
  /** Pods of an earlier run that have not been checked yet; undefined until they are known. */
  let left: Set<string> | undefined;
  const done = new Set<string>();

  const notify = (): void => listeners.notify();
  const names = (): readonly string[] => [...new Set([...used.values()].flatMap((some) => [...some]))];

  function checked(podUID: string): void {
    if (left === undefined) done.add(podUID);
    else if (left.delete(podUID) && left.size === 0) notify();
  }

  async function findLeft(): Promise<void> {
    const found = await podsOnDisk();
    left = new Set(found.filter((podUID) => !done.has(podUID)));
    done.clear();
    notify();
  }

  function note(podUID: string, name: string): void {
    const some = used.get(podUID) ?? new Set();
    used.set(podUID, some);
    if (some.has(name)) return;
    some.add(name);
    notify();
  }

  async function whenReported(name: string, signal: AbortSignal): Promise<void> {
    const find = (): true | undefined => (known.has(name) ? true : undefined);
    const late = `${name} is not yet in status.volumesInUse of the node on the API server`;
    await waitFor({ clock, changes: reports, find, late }, signal);
  }

  return {
    async begin() {
      if (left === undefined) await findLeft();
    },
    names: (before) =>
      (left?.size === 0 ? names() : [...new Set([...before, ...names()])]).toSorted((one, other) =>
        one < other ? -1 : 1,
      ),
    reported(all) {
      known = new Set(all);
      reports.notify();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async use(podUID, source, signal) {
      const name = attachableVolumeName(vocabulary.domain, source);
      if (name === undefined) return;
      note(podUID, name);
      if (reportsVolumes) await whenReported(name, signal);
    },
    attached(volumes) {
      attachments = new Map(volumes.map(({ name, devicePath }) => [name, devicePath]));
      reports.notify();
    },
    async whenAttached(podUID, name, signal) {
      note(podUID, name);
      if (!reportsVolumes) return undefined;
      await whenReported(name, signal);
      const late = `${name} is not attached to this node yet: it is not in status.volumesAttached`;
      const find = (): string | undefined => attachments.get(name);
      const devicePath = await waitFor({ clock, changes: reports, find, late }, signal);
      return devicePath === '' ? undefined : devicePath;
    },
    checked,
    release(podUID) {
      if (used.delete(podUID)) notify();
      checked(podUID);
    },
  };
}
