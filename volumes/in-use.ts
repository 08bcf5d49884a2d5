/** Volumes that are attached to the node before pods mount them, and are in use as long as one may have them mounted.
 *  The node tells their names, so that nobody detaches them meanwhile:
 *
 *      a pod is to have it ─▶ in use ─▶ told ─▶ mounted ─▶ … ─▶ unmounted ─▶ no longer in use
 *
 *  What was told before this process began counts on until each pod that it left on the disk was looked at again.
 *  Source: upstream's volume manager (`GetVolumesInUse`, `MarkVolumesAsReportedInUse`), release 1.24. */
import { sleep } from '#api/kit/clock.ts';
import { type AttachableSource, attachableVolumeName } from '#api/meta/volume-names.ts';
import { VolumeSetupError } from './setup-error.ts';
import type { VolumeHost, VolumesInUse } from './types.ts';

/** How long a mount waits for the server to know of it; then it is tried again. */
const REPORT_PATIENCE_MS = 20_000;

export interface UseTracker extends VolumesInUse {
  /** Takes note of a volume of a pod, if it is one that is attached. Resolves when it may be mounted.
   *  @throws VolumeSetupError where the node could not tell in time; the signal's reason */
  use(podUID: string, source: AttachableSource, signal: AbortSignal): Promise<void>;
  /** The pod's volumes that are to be mounted are known. */
  looked(podUID: string): void;
  /** Nothing of the pod is mounted. */
  release(podUID: string): void;
}

export interface UseTrackerDeps extends Pick<VolumeHost, 'clock' | 'vocabulary' | 'reportsVolumes'> {
  /** Pods that have folders now. */
  readonly podsOnDisk: () => Promise<readonly string[]>;
}

export function createUseTracker({
  clock,
  vocabulary,
  reportsVolumes = false,
  podsOnDisk,
}: UseTrackerDeps): UseTracker {
  const used = new Map<string, Set<string>>();
  const listeners = new Set<() => void>();
  const reports = new Set<() => void>();
  let known: ReadonlySet<string> = new Set();
  /** Pods of an earlier run that nobody has looked at yet; undefined while they are not known themselves. */
  let left: Set<string> | undefined;
  const done = new Set<string>();

  const tell = (): void => listeners.forEach((listener) => listener());
  const names = (): readonly string[] => [...new Set([...used.values()].flatMap((some) => [...some]))];

  function looked(podUID: string): void {
    if (left === undefined) done.add(podUID);
    else if (left.delete(podUID) && left.size === 0) tell();
  }

  async function find(): Promise<void> {
    const found = await podsOnDisk();
    left = new Set(found.filter((podUID) => !done.has(podUID)));
    done.clear();
    tell();
  }

  async function whenReported(name: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (known.has(name)) resolve();
    };
    const enough = new AbortController();
    reports.add(look);
    look();
    try {
      const patience = sleep(clock, REPORT_PATIENCE_MS, AbortSignal.any([signal, enough.signal]));
      patience.catch(() => undefined);
      const late = patience.then(() => {
        throw new VolumeSetupError(`the API server does not know yet that ${name} is in use here`);
      });
      await Promise.race([promise, late]);
    } finally {
      reports.delete(look);
      enough.abort(new Error('it has been told'));
    }
  }

  return {
    async begin() {
      if (left === undefined) await find();
    },
    names: (told) =>
      (left?.size === 0 ? names() : [...new Set([...told, ...names()])]).toSorted((one, other) =>
        one < other ? -1 : 1,
      ),
    reported(all) {
      known = new Set(all);
      for (const look of reports) look();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async use(podUID, source, signal) {
      const name = attachableVolumeName(vocabulary.domain, source);
      if (name === undefined) return;
      const some = used.get(podUID) ?? new Set();
      used.set(podUID, some);
      if (!some.has(name)) {
        some.add(name);
        tell();
      }
      if (reportsVolumes) await whenReported(name, signal);
    },
    looked,
    release(podUID) {
      if (used.delete(podUID)) tell();
      looked(podUID);
    },
  };
}
