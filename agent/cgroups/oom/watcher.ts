/** Turns processes that the kernel ended for want of memory into events: of the node where the machine's memory ran out,
 *  of the pod where a limit was reached. Mends the status of a container whose runtime has lost the reason.
 *  Source: document 3, 1; upstream's OOM watcher, 1.24, which knows the node's events alone. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { containerIdOf, type OomKill, parseOomKill } from './kernel-message.ts';

export interface OomWatcherDeps {
  /** Records of the kernel since the last call. */
  readonly read: () => Promise<readonly string[]>;
  readonly container: (id: string) => ObservedContainer | undefined;
  readonly pod: (podUID: string) => Pod | undefined;
  /** Containers of a pod. */
  readonly containers: (podUID: string) => readonly ObservedContainer[];
  /** Kills that the kernel counts of a pod; undefined where it doesn't. */
  readonly countKills: (pod: Pod) => Promise<number | undefined>;
  /** Notes the reason of a container's end. */
  readonly noteKilled: (id: string) => void;
  readonly event: (
    pod: Pod,
    type: 'Warning',
    reason: string,
    message: string,
    container?: { readonly name: string },
  ) => void;
  readonly nodeEvent: (event: {
    readonly type: 'Warning';
    readonly reason: string;
    readonly message: string;
  }) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface OomWatcher {
  /** The runtime tells that memory of a container ran out. */
  runtimeTold(containerId: string): void;
  /** Something of the pod changed: a container may have been ended. */
  podChanged(podUID: string): void;
  /** Looks now and then as well, until the signal fires: processes outside of pods are told of by nobody. */
  run(signal: AbortSignal): Promise<void>;
}

const PERIOD_MS = 10_000;
/** A kill is told once by whoever tells it first. */
const SAME_KILL_MS = 10_000;
/** The exit code of a process that SIGKILL ended. */
const KILLED = 137;
const OOM_KILLING = 'OOMKilling';

export function createOomWatcher(deps: OomWatcherDeps): OomWatcher {
  return new Watcher(deps);
}

class Watcher implements OomWatcher {
  readonly #deps: OomWatcherDeps;
  /** When a kill of the pod was told last, in monotonic ms. */
  readonly #toldAt = new Map<string, number>();
  /** Containers whose end was looked at. */
  readonly #seen = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** Wall time. */
  readonly #sinceMs: number;
  #looking: Promise<void> = Promise.resolve();

  constructor(deps: OomWatcherDeps) {
    this.#deps = deps;
    this.#sinceMs = deps.clock.now();
  }

  runtimeTold(containerId: string): void {
    void this.#lookThenTell(containerId);
  }

  podChanged(podUID: string): void {
    for (const container of this.#deps.containers(podUID)) {
      const { id, state, exitCode } = container;
      if (state !== 'exited' || exitCode !== KILLED || this.#seen.has(id)) continue;
      this.#seen.add(id);
      void this.#lookThenCount(container);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#deps.clock, PERIOD_MS, signal).catch(() => undefined);
      await this.#look();
      this.#forget();
    }
  }

  /** Never rejects. One look at a time, as each takes what there is. */
  #look(): Promise<void> {
    this.#looking = this.#lookAfter(this.#looking);
    return this.#looking;
  }

  async #lookAfter(before: Promise<void>): Promise<void> {
    await before;
    try {
      for (const record of await this.#deps.read()) {
        const kill = parseOomKill(record);
        if (kill !== undefined) this.#tell(kill);
      }
    } catch (err) {
      this.#deps.log.debug({ err }, 'Log of the kernel could not be read');
    }
  }

  async #lookThenTell(containerId: string): Promise<void> {
    await this.#look();
    const container = this.#deps.container(containerId);
    if (container !== undefined) this.#tellUnlessTold(container);
  }

  #tell(kill: OomKill): void {
    const { process, pid, limitedBy, cgroup } = kill;
    if (limitedBy === undefined) {
      const message = `System OOM encountered, victim process: ${process}, pid: ${pid}`;
      this.#deps.nodeEvent({ type: 'Warning', reason: 'SystemOOM', message });
    }
    const container = this.#deps.container(containerIdOf(cgroup) ?? '');
    if (container === undefined) return;
    this.#deps.noteKilled(container.id);
    const why =
      limitedBy === undefined
        ? 'the memory of the node ran out'
        : containerIdOf(limitedBy) === undefined
          ? 'the memory limit of its pod was reached'
          : 'its memory limit was reached';
    const message = `The kernel ended process ${process} (${pid}) of container ${container.name}: ${why}`;
    this.#event(container, message);
  }

  /** The kernel tells no more than some kills within a few seconds, and not everybody may read it. */
  #tellUnlessTold(container: ObservedContainer): void {
    const atMs = this.#toldAt.get(container.podUID);
    if (atMs !== undefined && this.#deps.clock.monotonic() - atMs < SAME_KILL_MS) return;
    this.#event(container, `The memory limit of container ${container.name} was reached`);
  }

  #event(container: ObservedContainer, message: string): void {
    this.#toldAt.set(container.podUID, this.#deps.clock.monotonic());
    const pod = this.#deps.pod(container.podUID);
    if (pod !== undefined) this.#deps.event(pod, 'Warning', OOM_KILLING, message, container);
  }

  /** Some runtimes don't know why a container was ended; the count of its pod does. */
  async #lookThenCount(container: ObservedContainer): Promise<void> {
    await this.#look();
    const { podUID, id } = container;
    const pod = this.#deps.pod(podUID);
    const count = pod === undefined ? undefined : await this.#deps.countKills(pod).catch(() => undefined);
    if (count === undefined) return;
    const before = this.#counts.get(podUID) ?? (this.#isOlder(podUID) ? count : 0);
    this.#counts.set(podUID, count);
    if (count <= before) return;
    this.#deps.noteKilled(id);
    this.#tellUnlessTold(container);
  }

  /** What the kernel counted before this agent was there belongs to containers that have long ended. */
  #isOlder(podUID: string): boolean {
    return this.#deps.containers(podUID).some(({ createdAtMs }) => createdAtMs < this.#sinceMs);
  }

  #forget(): void {
    for (const id of this.#seen) if (this.#deps.container(id) === undefined) this.#seen.delete(id);
    for (const map of [this.#toldAt, this.#counts]) {
      for (const podUID of map.keys()) if (this.#deps.pod(podUID) === undefined) map.delete(podUID);
    }
  }
}
