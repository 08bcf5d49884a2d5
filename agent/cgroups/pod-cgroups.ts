/** A cgroup for every pod, below one for its class of service, below one for all pods. What the machine does not give
 *  is told once, and pods run without it.
 *
 *      <root>/<all pods>               what all pods may have together
 *        ├─ pod<UID>                   Guaranteed
 *        ├─ burstable/pod<UID>         weight: what its pods asked for
 *        └─ besteffort/pod<UID>        weight: what nobody else wants
 *
 *  Source: document 3, 4.3; upstream's pod container manager and QoS container manager, 1.24. */
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { podIdentity } from '../pods/identity.ts';
import { type ClassCgroups, createClassCgroups } from './class-cgroups.ts';
import { type CgroupLimits, type PodLimitOptions, podLimits } from './limits.ts';
import { type CgroupName, podCgroup } from './names.ts';
import { type OpenCgroups, type OpenDeps, openCgroups } from './open-cgroups.ts';
import { type PodShare, podShare } from './pod-amounts.ts';
import type { CgroupRecords } from './records.ts';
import type { CgroupFault } from './tree.ts';

export interface PodCgroups {
  /** Makes the cgroups of all pods and of the classes, before any pod. Never rejects. */
  begin(): Promise<void>;
  /** The cgroup of the pod, made and limited, as the runtime is to be told; one that is not the pod's own where the
   *  machine has none. @throws CgroupDriverError */
  ensure(pod: Pod): Promise<string>;
  /** Removes the cgroup of a pod that has ended. Never rejects; what does not go is tried again. */
  remove(podUID: string): Promise<void>;
  /** Path of the pod's cgroup in the hierarchies; undefined where it has none of its own. */
  pathOf(pod: Pod): string | undefined;
  /** Path of the cgroup of all pods in the hierarchies; undefined where there is none, or not yet. */
  allPods(): string | undefined;
  /** Puts right what others changed and removes what is of no pod, until the signal fires. Never rejects. */
  run(pods: KnownPods, signal: AbortSignal): Promise<void>;
}

/** The pods of this node. */
export interface KnownPods {
  /** Those that have not ended. */
  active(): readonly Pod[];
  /** Whether anything of the pod may still be here. */
  knows(podUID: string): boolean;
}

export interface PodCgroupsOptions {
  /** Whether pods have cgroups of their own at all. */
  readonly perQos: boolean;
  /** The cgroup of all pods. */
  readonly root: CgroupName;
  /** What the runtime is told where pods have no cgroups of their own. */
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
  /** Called when the limits of all pods were set, or were refused. */
  readonly enforced?: (faults: readonly CgroupFault[]) => void;
}

/** As often as upstream. */
const REPAIR_MS = 60_000;

interface Known {
  readonly share: PodShare;
  readonly name: CgroupName;
  readonly path: string;
  readonly parent: Promise<string>;
  /** What is done to it now. */
  underWay: Promise<unknown>;
}

interface Opened {
  readonly cgroups: OpenCgroups;
  readonly classes: ClassCgroups;
}

export function createPodCgroups(deps: PodCgroupsDeps, options: PodCgroupsOptions): PodCgroups {
  return new Keeper(deps, options);
}

class Keeper implements PodCgroups {
  readonly #deps: PodCgroupsDeps;
  readonly #options: PodCgroupsOptions;
  readonly #known = new Map<string, Known>();
  /** Pods whose cgroups were given up, and that may not be gone yet. */
  readonly #givenUp = new Set<string>();
  #opened: Promise<Opened | undefined> | undefined;
  #allPods: string | undefined;

  constructor(deps: PodCgroupsDeps, options: PodCgroupsOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  async begin(): Promise<void> {
    await this.#open().catch((thrown: unknown) => {
      this.#deps.log.error({ err: asError(thrown) }, 'Pods can not be started');
    });
  }

  async ensure(pod: Pod): Promise<string> {
    const opened = await this.#open();
    this.#givenUp.delete(podIdentity(pod).uid);
    const before = this.#known.get(podIdentity(pod).uid);
    if (opened === undefined || before !== undefined) return before?.parent ?? this.#options.fallback;
    const share = podShare(pod, this.#options.hugePageSizesBytes);
    const name = this.#nameOf(pod, share);
    if (name === undefined) return this.#options.fallback;
    const parent = this.#make(opened, pod, name, share);
    const path = opened.cgroups.maker.path(name);
    this.#known.set(podIdentity(pod).uid, { share, name, path, parent, underWay: parent });
    opened.classes.update();
    return parent;
  }

  async remove(podUID: string): Promise<void> {
    this.#givenUp.add(podUID);
    const opened = await this.#open().catch(() => undefined);
    const pod = this.#known.get(podUID);
    // Where there are no cgroups, nothing is repaired, and nobody would look for those that are gone.
    if (opened === undefined) this.#givenUp.delete(podUID);
    const path = pod?.path ?? (await this.#deps.records.path(podUID));
    if (path === undefined || opened === undefined) return;
    this.#known.delete(podUID);
    await pod?.underWay;
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
          log.warn({ err }, 'Cgroups could not be looked through');
        });
      }
      await sleep(clock, REPAIR_MS, signal).catch(() => undefined);
    }
    (await this.#open().catch(() => undefined))?.cgroups.maker.close();
  }

  /** Undefined where pods have no cgroups of their own. @throws CgroupDriverError */
  #open(): Promise<Opened | undefined> {
    if (this.#opened !== undefined) return this.#opened;
    const opening = this.#options.perQos ? this.#openNow() : Promise.resolve(undefined);
    this.#opened = opening;
    // The runtime may be set up otherwise by the next time.
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
    enforced?.(cgroups.faults);
    const shares = (): readonly PodShare[] => [...this.#known.values()].map(({ share }) => share);
    const classes = createClassCgroups(
      { opened: cgroups, shares, log },
      { ...this.#options, memoryQoS: pod.memoryQoS },
    );
    await classes.settled();
    return { cgroups, classes };
  }

  /** A UID of a manifest may be one that no cgroup can be named after. */
  #nameOf(pod: Pod, { qos }: PodShare): CgroupName | undefined {
    try {
      return podCgroup(this.#options, qos, podIdentity(pod).uid);
    } catch (thrown) {
      this.#tellNone(pod, thrown);
      return undefined;
    }
  }

  async #make({ cgroups }: Opened, pod: Pod, name: CgroupName, share: PodShare): Promise<string> {
    try {
      await this.#deps.records.put(podIdentity(pod).uid, cgroups.maker.path(name));
      this.#tell(pod, await cgroups.set(name, podLimits(share.amounts, this.#options.pod)));
      return cgroups.maker.parent(name);
    } catch (thrown) {
      this.#tellNone(pod, thrown);
      return this.#options.fallback;
    }
  }

  #tellNone(pod: Pod, thrown: unknown): void {
    const message = `the pod has no cgroup of its own: ${asError(thrown).message}`;
    this.#deps.event(pod, 'Warning', 'FailedCreatePodContainer', message);
  }

  #tell(pod: Pod, faults: readonly CgroupFault[]): void {
    for (const { write, error } of faults) {
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
      log.warn({ err, podUID, retryMs: REPAIR_MS }, 'Cgroup of a pod that has ended was not removed');
    }
  }

  /** What was made, by this agent or by one before it, is looked at anew: others may have changed it. */
  async #repair(opened: Opened, pods: KnownPods, signal: AbortSignal): Promise<void> {
    opened.cgroups.maker.tree.forgetApplied();
    for (const pod of pods.active()) {
      signal.throwIfAborted();
      await this.#repairPod(opened, pod);
    }
    for (const podUID of this.#givenUp) if (!pods.knows(podUID)) this.#givenUp.delete(podUID);
    for (const [podUID, path] of await this.#deps.records.all()) {
      if (pods.knows(podUID) || this.#known.has(podUID)) continue;
      this.#deps.log.info({ podUID, path }, 'Cgroup of a pod that is gone is removed');
      await this.#removeAt(opened, podUID, path);
    }
    opened.classes.update();
  }

  async #repairPod({ cgroups }: Opened, pod: Pod): Promise<void> {
    const { uid } = podIdentity(pod);
    const before = this.#known.get(uid);
    // A pod that is about to be gone needs none any more.
    if (before === undefined && this.#givenUp.has(uid)) return;
    if (before === undefined) return void (await this.ensure(pod));
    await before.underWay;
    // It may have been removed meanwhile.
    if (this.#known.get(uid) !== before) return;
    const setting = cgroups.set(before.name, podLimits(before.share.amounts, this.#options.pod));
    before.underWay = setting.catch(() => undefined);
    this.#tell(pod, await setting);
  }
}
