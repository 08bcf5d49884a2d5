/** Pod cgroups: one for every pod, below one for its QoS class, below one for all pods. Limits that the
 *  machine does not support are logged once, and pods run without them.
 *
 *      <root>/<all pods>               limit of all pods together
 *        ├─ pod<UID>                   Guaranteed
 *        ├─ burstable/pod<UID>         weight: sum of the requests
 *        └─ besteffort/pod<UID>        weight: minimum
 *
 *  Source: pod cgroups, document 3 §4.3; upstream's pod container manager and QoS container manager, 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type IdentifiedPod, podIdentity } from '../pod-identity/identity.ts';
import { type ClassCgroups, createClassCgroups } from './class-cgroups.ts';
import { type CgroupLimits, type PodLimitOptions, podLimits } from './limits.ts';
import { type CgroupName, podCgroup } from './names.ts';
import { type OpenCgroups, type OpenDeps, openCgroups } from './open-cgroups.ts';
import { type PodShare, podShare } from './pod-amounts.ts';
import type { CgroupRecords } from './records.ts';
import type { CgroupError } from './tree.ts';

export interface PodCgroups {
  /** Creates the cgroups of all pods and of the QoS classes, before any pod. Never rejects. */
  begin(): Promise<void>;
  /** Creates and limits the cgroup of the pod. Returns the cgroup parent for the runtime; the fallback where
   *  pod cgroups are unavailable. @throws CgroupDriverError */
  ensure(target: IdentifiedPod): Promise<string>;
  /** Removes the cgroup of a terminated pod. Never rejects; failures are retried. */
  remove(podUID: string): Promise<void>;
  /** Returns the path of the pod's cgroup in the hierarchies; undefined where it has none. */
  pathOf(pod: Pod): string | undefined;
  /** Returns the path of the cgroup of all pods in the hierarchies; undefined where it does not exist yet. */
  allPods(): string | undefined;
  /** Repairs external changes and removes cgroups of unknown pods, until the signal fires. Never rejects. */
  run(pods: KnownPods, signal: AbortSignal): Promise<void>;
}

/** Pods of this node. */
export interface KnownPods {
  /** Pods that have not terminated. */
  active(): readonly Pod[];
  /** Reports whether anything of the pod may still exist. */
  knows(podUID: string): boolean;
}

export interface PodCgroupsOptions {
  /** Whether pods have their own cgroups. */
  readonly perQos: boolean;
  /** Cgroup of all pods. */
  readonly root: CgroupName;
  /** Cgroup parent for the runtime where pods have no cgroups of their own. */
  readonly fallback: string;
  readonly pod: PodLimitOptions;
  readonly hugePageSizesBytes: readonly number[];
  /** `--qos-reserved`, in percent. */
  readonly reservedPercent: number;
  readonly allocatableMemoryBytes: number;
  /** Limits of all pods together. */
  readonly rootLimits: CgroupLimits;
}

export interface PodCgroupsDeps {
  readonly open: OpenDeps['open'];
  readonly records: CgroupRecords;
  readonly clock: Clock;
  readonly log: Logger;
  readonly event: (pod: Pod, type: 'Warning', reason: string, message: string) => void;
  /** Called with the rejected limits after the limits of all pods were set. */
  readonly enforced?: (errors: readonly CgroupError[]) => void;
}

/** Upstream's interval. */
const REPAIR_MS = 60_000;

interface Known {
  readonly share: PodShare;
  readonly name: CgroupName;
  readonly path: string;
  readonly parent: Promise<string>;
  /** The operation in flight. */
  inFlight: Promise<unknown>;
}

interface Opened {
  readonly cgroups: OpenCgroups;
  readonly classes: ClassCgroups;
}

export function createPodCgroups(deps: PodCgroupsDeps, options: PodCgroupsOptions): PodCgroups {
  return new PodCgroupManager(deps, options);
}

class PodCgroupManager implements PodCgroups {
  readonly #deps: PodCgroupsDeps;
  readonly #options: PodCgroupsOptions;
  readonly #known = new Map<string, Known>();
  /** Pods whose cgroups are to be removed, until they are gone. */
  readonly #removing = new Set<string>();
  #opened: Promise<Opened | undefined> | undefined;
  #allPods: string | undefined;

  constructor(deps: PodCgroupsDeps, options: PodCgroupsOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async begin(): Promise<void> {
    await this.#open().catch((thrown: unknown) => {
      this.#deps.log.error({ err: asError(thrown) }, 'Failed to open pod cgroups; pods cannot start');
    });
  }

  async ensure(target: IdentifiedPod): Promise<string> {
    const { pod, uid } = target;
    const opened = await this.#open();
    this.#removing.delete(uid);
    const before = this.#known.get(uid);
    if (opened === undefined || before !== undefined) return before?.parent ?? this.#options.fallback;
    const share = podShare(pod, this.#options.hugePageSizesBytes);
    const name = this.#nameOf(target, share);
    if (name === undefined) return this.#options.fallback;
    const parent = this.#make(opened, target, name, share);
    const path = opened.cgroups.maker.path(name);
    this.#known.set(uid, { share, name, path, parent, inFlight: parent });
    opened.classes.update();
    return parent;
  }

  async remove(podUID: string): Promise<void> {
    this.#removing.add(podUID);
    const opened = await this.#open().catch(() => undefined);
    const pod = this.#known.get(podUID);
    // Without cgroups nothing is repaired, so the set would never be cleaned up.
    if (opened === undefined) this.#removing.delete(podUID);
    const path = pod?.path ?? (await this.#deps.records.path(podUID));
    if (path === undefined || opened === undefined) return;
    this.#known.delete(podUID);
    await pod?.inFlight;
    await this.#removeAt(opened, podUID, path);
    opened.classes.update();
  }

  pathOf({ metadata }: Pod): string | undefined {
    return this.#known.get(metadata?.uid ?? '')?.path;
  }

  allPods(): string | undefined {
    return this.#allPods;
  }

  async run(pods: KnownPods, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    while (!signal.aborted) {
      const opened = await this.#open().catch(() => undefined);
      if (opened !== undefined) {
        await this.#repair(opened, pods, signal).catch((err: unknown) => {
          log.warn({ err }, 'Failed to repair pod cgroups');
        });
      }
      await sleep(clock, REPAIR_MS, signal).catch(() => undefined);
    }
    (await this.#open().catch(() => undefined))?.cgroups.maker.close();
  }

  /** Returns undefined where pods have no cgroups of their own. @throws CgroupDriverError */
  #open(): Promise<Opened | undefined> {
    if (this.#opened !== undefined) return this.#opened;
    const opening = this.#options.perQos ? this.#openNow() : Promise.resolve(undefined);
    this.#opened = opening;
    // The runtime may be configured correctly by the next attempt.
    opening.catch(() => {
      if (this.#opened === opening) this.#opened = undefined;
    });
    return opening;
  }

  async #openNow(): Promise<Opened | undefined> {
    const { log, enforced } = this.#deps;
    const { root, rootLimits, pod } = this.#options;
    const cgroups = await openCgroups(this.#deps, root, rootLimits);
    if (cgroups === undefined) return undefined;
    this.#allPods = cgroups.maker.path(root);
    enforced?.(cgroups.errors);
    const shares = (): readonly PodShare[] => [...this.#known.values()].map(({ share }) => share);
    const classes = createClassCgroups(
      { opened: cgroups, shares, log },
      { ...this.#options, memoryQoS: pod.memoryQoS },
    );
    await classes.settled();
    return { cgroups, classes };
  }

  /** A manifest may contain a UID that is not valid in a cgroup name. */
  #nameOf({ pod, uid }: IdentifiedPod, { qos }: PodShare): CgroupName | undefined {
    try {
      return podCgroup(this.#options, qos, uid);
    } catch (thrown) {
      this.#reportUnavailable(pod, thrown);
      return undefined;
    }
  }

  async #make(
    { cgroups }: Opened,
    { pod, uid }: IdentifiedPod,
    name: CgroupName,
    share: PodShare,
  ): Promise<string> {
    try {
      await this.#deps.records.put(uid, cgroups.maker.path(name));
      this.#reportErrors(pod, await cgroups.set(name, podLimits(share.amounts, this.#options.pod)));
      return cgroups.maker.parent(name);
    } catch (thrown) {
      this.#reportUnavailable(pod, thrown);
      return this.#options.fallback;
    }
  }

  #reportUnavailable(pod: Pod, thrown: unknown): void {
    const message = `the pod has no cgroup of its own: ${asError(thrown).message}`;
    this.#deps.event(pod, 'Warning', 'FailedCreatePodContainer', message);
  }

  #reportErrors(pod: Pod, errors: readonly CgroupError[]): void {
    for (const { write, error } of errors) {
      const message = `limit ${write.file} = ${write.text} of the pod is not set: ${error.message}`;
      this.#deps.event(pod, 'Warning', 'FailedPodLimit', message);
    }
  }

  async #removeAt({ cgroups }: Opened, podUID: string, path: string): Promise<void> {
    const { records, log } = this.#deps;
    try {
      await cgroups.maker.remove(path);
      await records.drop(podUID);
    } catch (err) {
      log.warn({ err, podUID, retryMs: REPAIR_MS }, 'Failed to remove cgroup of terminated pod');
    }
  }

  /** Sets all limits again, also those of cgroups of an earlier run: others may have changed them. */
  async #repair(opened: Opened, pods: KnownPods, signal: AbortSignal): Promise<void> {
    opened.cgroups.maker.tree.forgetApplied();
    for (const pod of pods.active()) {
      signal.throwIfAborted();
      await this.#repairPod(opened, pod);
    }
    for (const podUID of this.#removing) if (!pods.knows(podUID)) this.#removing.delete(podUID);
    for (const [podUID, path] of await this.#deps.records.all()) {
      if (pods.knows(podUID) || this.#known.has(podUID)) continue;
      this.#deps.log.info({ podUID, path }, 'Orphaned pod cgroup found');
      await this.#removeAt(opened, podUID, path);
    }
    opened.classes.update();
  }

  async #repairPod({ cgroups }: Opened, pod: Pod): Promise<void> {
    const identity = podIdentity(pod);
    const { uid } = identity;
    const before = this.#known.get(uid);
    // A pod that is being removed needs none any more.
    if (before === undefined && this.#removing.has(uid)) return;
    if (before === undefined) return void (await this.ensure({ ...identity, pod }));
    await before.inFlight;
    // It may have been removed meanwhile.
    if (this.#known.get(uid) !== before) return;
    const setting = cgroups.set(before.name, podLimits(before.share.amounts, this.#options.pod));
    before.inFlight = setting.catch(() => undefined);
    this.#reportErrors(pod, await setting);
  }
}
