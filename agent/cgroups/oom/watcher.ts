/** Emits events for OOM kills: on the node when the machine ran out of memory, on the pod when a limit was
 *  reached. Corrects the status of a container whose runtime did not report the reason.
 *  Source: pod termination reasons, document 3 §1; upstream's OOM watcher, 1.24, which emits node events
 *  only. */

import type { Pod } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { containerIdOf, type OomKill, parseOomKill } from './kernel-message.ts';

export interface OomWatcherDeps {
  /** Kernel log records since the last call. */
  readonly read: () => Promise<readonly string[]>;
  readonly container: (id: string) => ObservedContainer | undefined;
  readonly pod: (podUID: string) => Pod | undefined;
  /** Containers of a pod. */
  readonly containers: (podUID: string) => readonly ObservedContainer[];
  /** Number of OOM kills that the kernel counted for a pod; undefined where it does not. */
  readonly countKills: (pod: Pod) => Promise<number | undefined>;
  /** Records the termination reason of a container. */
  readonly recordOomKill: (id: string) => void;
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
  /** Called when the runtime reports an OOM kill of a container. */
  runtimeTold(containerId: string): void;
  /** Called when a pod has changed: a container may have been killed. */
  podChanged(podUID: string): void;
  /** Polls until the signal fires as well: no event reports kills of processes outside of pods. */
  run(signal: AbortSignal): Promise<void>;
}

const PERIOD_MS = 10_000;
/** Reports of one kill from several sources within this time count once. */
const SAME_KILL_MS = 10_000;
/** Exit code of a process that SIGKILL terminated. */
const KILLED = 137;
const OOM_KILLING = 'OOMKilling';

export function createOomWatcher(deps: OomWatcherDeps): OomWatcher {
  return new Watcher(deps);
}

class Watcher implements OomWatcher {
  readonly #deps: OomWatcherDeps;
  /** Time of the last reported kill by pod, in monotonic ms. */
  readonly #reportedAt = new Map<string, number>();
  /** Containers whose exit has been checked. */
  readonly #seen = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** Wall time. */
  readonly #sinceMs: number;
  #reading: Promise<void> = Promise.resolve();

  constructor(deps: OomWatcherDeps) {
    this.#deps = deps;
    this.#sinceMs = deps.clock.now();
  }

  runtimeTold(containerId: string): void {
    void this.#readThenReport(containerId);
  }

  podChanged(podUID: string): void {
    for (const container of this.#deps.containers(podUID)) {
      const { id, state, exitCode } = container;
      if (state !== 'exited' || exitCode !== KILLED || this.#seen.has(id)) continue;
      this.#seen.add(id);
      void this.#readThenCount(container);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#deps.clock, PERIOD_MS, signal).catch(() => undefined);
      await this.#readLog();
      this.#forget();
    }
  }

  /** Never rejects. Serialized, as each read consumes the records. */
  #readLog(): Promise<void> {
    this.#reading = this.#readAfter(this.#reading);
    return this.#reading;
  }

  async #readAfter(before: Promise<void>): Promise<void> {
    await before;
    try {
      for (const record of await this.#deps.read()) {
        const kill = parseOomKill(record);
        if (kill !== undefined) this.#report(kill);
      }
    } catch (err) {
      this.#deps.log.debug({ err }, 'Failed to read kernel log');
    }
  }

  async #readThenReport(containerId: string): Promise<void> {
    await this.#readLog();
    const container = this.#deps.container(containerId);
    if (container !== undefined) this.#reportOnce(container);
  }

  #report(kill: OomKill): void {
    const { process, pid, limitedBy, cgroup } = kill;
    if (limitedBy === undefined) {
      const message = `System OOM encountered, victim process: ${process}, pid: ${pid}`;
      this.#deps.nodeEvent({ type: 'Warning', reason: 'SystemOOM', message });
    }
    const container = this.#deps.container(containerIdOf(cgroup) ?? '');
    if (container === undefined) return;
    this.#deps.recordOomKill(container.id);
    const why =
      limitedBy === undefined
        ? 'the memory of the node ran out'
        : containerIdOf(limitedBy) === undefined
          ? 'the memory limit of its pod was reached'
          : 'its memory limit was reached';
    const message = `The kernel killed process ${process} (${pid}) of container ${container.name}: ${why}`;
    this.#event(container, message);
  }

  /** The kernel rate-limits its messages, and the log may be unreadable. */
  #reportOnce(container: ObservedContainer): void {
    const atMs = this.#reportedAt.get(container.podUID);
    if (atMs !== undefined && this.#deps.clock.monotonic() - atMs < SAME_KILL_MS) return;
    this.#event(container, `The memory limit of container ${container.name} was reached`);
  }

  #event(container: ObservedContainer, message: string): void {
    this.#reportedAt.set(container.podUID, this.#deps.clock.monotonic());
    const pod = this.#deps.pod(container.podUID);
    if (pod !== undefined) this.#deps.event(pod, 'Warning', OOM_KILLING, message, container);
  }

  /** Some runtimes do not report OOM kills; the kernel counts them per pod. */
  async #readThenCount(container: ObservedContainer): Promise<void> {
    await this.#readLog();
    const { podUID, id } = container;
    const pod = this.#deps.pod(podUID);
    const count = pod === undefined ? undefined : await this.#deps.countKills(pod).catch(() => undefined);
    if (count === undefined) return;
    const before = this.#counts.get(podUID) ?? (this.#isOlder(podUID) ? count : 0);
    this.#counts.set(podUID, count);
    if (count <= before) return;
    this.#deps.recordOomKill(id);
    this.#reportOnce(container);
  }

  /** Kills before the start of this agent belong to containers that have long exited. */
  #isOlder(podUID: string): boolean {
    return this.#deps.containers(podUID).some(({ createdAtMs }) => createdAtMs < this.#sinceMs);
  }

  #forget(): void {
    for (const id of this.#seen) if (this.#deps.container(id) === undefined) this.#seen.delete(id);
    for (const map of [this.#reportedAt, this.#counts]) {
      for (const podUID of map.keys()) if (this.#deps.pod(podUID) === undefined) map.delete(podUID);
    }
  }
}
