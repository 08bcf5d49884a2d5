/** Volumes that are attached to the node before pods mount them, and are in use as long as one may have them mounted.
 *  The node tells their names, so that nobody detaches them meanwhile:
 *
 *      a pod is to have it ─▶ in use ─▶ told ─▶ mounted ─▶ … ─▶ unmounted ─▶ no longer in use
 *
 *  What was told before this process began counts on until each pod that it left on the disk was looked at again.
 *  Source: upstream's volume manager (`GetVolumesInUse`, `MarkVolumesAsReportedInUse`), release 1.24. */

import { type Clock, sleep } from '#api/kit/clock.ts';
import { createListeners, type Listeners } from '#api/kit/listeners.ts';
import { type AttachableSource, attachableVolumeName } from '#api/meta/volume-names.ts';
import { VolumeSetupError } from './setup-error.ts';
import type { VolumeHost, VolumesInUse } from './types.ts';

/** How long a mount waits for the server to know of it; then it is tried again. */
const REPORT_PATIENCE_MS = 20_000;

export interface UseTracker extends VolumesInUse {
  /** Takes note of a volume of a pod, if it is one that is attached. Resolves when it may be mounted.
   *  @throws VolumeSetupError where the node could not tell in time; the signal's reason */
  use(podUID: string, source: AttachableSource, signal: AbortSignal): Promise<void>;
  /** Takes note of a volume of a pod that is attached, and waits for it, where an API server is told of volumes.
   *  @returns where the device is, if whoever attached it says so
   *  @throws VolumeSetupError where it is not attached in time; the signal's reason */
  whenAttached(podUID: string, name: string, signal: AbortSignal): Promise<string | undefined>;
  /** The pod's volumes that are to be mounted are known. */
  looked(podUID: string): void;
  /** Nothing of the pod is mounted. */
  release(podUID: string): void;
}

export interface UseTrackerDeps extends Pick<VolumeHost, 'clock' | 'vocabulary' | 'reportsVolumes'> {
  /** Pods that have folders now. */
  readonly podsOnDisk: () => Promise<readonly string[]>;
}

interface Awaited<T> {
  readonly clock: Clock;
  /** To be called when it may be found. */
  readonly changes: Listeners;
  readonly find: () => T | undefined;
  /** What is the matter when it is not found in time. */
  readonly late: string;
}

/** @throws VolumeSetupError when it is not found in time; the signal's reason */
async function waitFor<T>({ clock, changes, find, late }: Awaited<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  const look = (): void => {
    const found = find();
    if (found !== undefined) resolve(found);
  };
  const enough = new AbortController();
  changes.add(look);
  look();
  try {
    const patience = sleep(clock, REPORT_PATIENCE_MS, AbortSignal.any([signal, enough.signal]));
    patience.catch(() => undefined);
    const tooLate = patience.then(() => {
      throw new VolumeSetupError(late);
    });
    return await Promise.race([promise, tooLate]);
  } finally {
    changes.delete(look);
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
  /** Device paths of volumes that are attached to the node, by name; empty where it is not known. */
  let attachments: ReadonlyMap<string, string> = new Map();
  /** Pods of an earlier run that nobody has looked at yet; undefined while they are not known themselves. */
  let left: Set<string> | undefined;
  const done = new Set<string>();

  const tell = (): void => listeners.notify();
  const names = (): readonly string[] => [...new Set([...used.values()].flatMap((some) => [...some]))];

  function looked(podUID: string): void {
    if (left === undefined) done.add(podUID);
    else if (left.delete(podUID) && left.size === 0) tell();
  }

  async function findLeft(): Promise<void> {
    const found = await podsOnDisk();
    left = new Set(found.filter((podUID) => !done.has(podUID)));
    done.clear();
    tell();
  }

  function note(podUID: string, name: string): void {
    const some = used.get(podUID) ?? new Set();
    used.set(podUID, some);
    if (some.has(name)) return;
    some.add(name);
    tell();
  }

  async function whenReported(name: string, signal: AbortSignal): Promise<void> {
    const find = (): true | undefined => (known.has(name) ? true : undefined);
    const late = `the API server does not know yet that ${name} is in use here`;
    await waitFor({ clock, changes: reports, find, late }, signal);
  }

  return {
    async begin() {
      if (left === undefined) await findLeft();
    },
    names: (told) =>
      (left?.size === 0 ? names() : [...new Set([...told, ...names()])]).toSorted((one, other) =>
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
      const late = `${name} is not attached to this node yet: nobody says so in its status.volumesAttached`;
      const find = (): string | undefined => attachments.get(name);
      const devicePath = await waitFor({ clock, changes: reports, find, late }, signal);
      return devicePath === '' ? undefined : devicePath;
    },
    looked,
    release(podUID) {
      if (used.delete(podUID)) tell();
      looked(podUID);
    },
  };
}
