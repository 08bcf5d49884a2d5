/** Measures the signals of configured thresholds: a few small files and calls, without walking directories or
 *  starting processes. A signal that cannot be measured is omitted, and logged once. */

import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Observation, Observations, Signal } from '../signals.ts';
import type { FileSystems, Space } from './file-systems.ts';
import {
  findMemoryHierarchy,
  type MemoryHierarchy,
  type MemoryUse,
  type ReadText,
  readCgroupMemory,
  readNodeMemory,
  workingSet,
} from './memory.ts';
import { readProcessNumbers } from './processes.ts';

export interface SignalObserverDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly readText: ReadText;
  readonly fileSystems: FileSystems;
  /** Returns the parent cgroup of all pods, relative to the hierarchies; undefined without one. */
  readonly podsCgroup: () => string | undefined;
}

/** Memory of one cgroup at the last measurement. */
export interface MemoryReading {
  readonly hierarchy: MemoryHierarchy;
  readonly path: string;
  readonly use: MemoryUse;
  readonly capacityBytes: number;
}

export interface SignalObserver {
  /** Rejects only with the signal's reason. */
  readonly observe: (signal: AbortSignal) => Promise<Observations>;
  /** Returns the memory state from which kernel watches are derived. */
  readonly memoryReadings: () => ReadonlyMap<Signal, MemoryReading>;
  /** Calls the listener after each measurement. @returns a function that ends the subscription */
  readonly onObserved: (listener: () => void) => () => void;
}

type Amounts = Pick<Observation, 'available' | 'capacity'>;
type Group = 'memory' | 'pods memory' | 'nodefs' | 'imagefs' | 'pids';

const GROUP_OF: Readonly<Record<Signal, Group>> = {
  'memory.available': 'memory',
  'allocatableMemory.available': 'pods memory',
  'nodefs.available': 'nodefs',
  'nodefs.inodesFree': 'nodefs',
  'imagefs.available': 'imagefs',
  'imagefs.inodesFree': 'imagefs',
  'pid.available': 'pids',
};

const amountsOfSpace = (fs: 'nodefs' | 'imagefs', space: Space): readonly (readonly [Signal, Amounts])[] => [
  [`${fs}.available`, { available: space.availableBytes, capacity: space.capacityBytes }],
  ...(space.inodes > 0
    ? [[`${fs}.inodesFree`, { available: space.inodesFree, capacity: space.inodes }] as const]
    : []),
];

/** @param signals of the thresholds; others are not measured */
export function createSignalObserver(deps: SignalObserverDeps, signals: ReadonlySet<Signal>): SignalObserver {
  const { clock, log, readText, fileSystems } = deps;
  const groups = new Set([...signals].map((signal) => GROUP_OF[signal]));
  const failing = new Set<Group>();
  const readings = new Map<Signal, MemoryReading>();
  const listeners = createListeners('eviction signals');
  let hierarchy: Promise<MemoryHierarchy | undefined> | undefined;

  function memoryHierarchy(): Promise<MemoryHierarchy | undefined> {
    hierarchy ??= readText('/proc/self/mountinfo').then(findMemoryHierarchy);
    return hierarchy;
  }

  function noteMemory(signal: Signal, reading: MemoryReading): readonly [Signal, Amounts] {
    readings.set(signal, reading);
    const { capacityBytes: capacity, use } = reading;
    return [signal, { capacity, available: Math.max(0, capacity - workingSet(use)) }];
  }

  const MEASURES: Readonly<
    Record<Group, (signal: AbortSignal) => Promise<readonly (readonly [Signal, Amounts])[]>>
  > = {
    async memory() {
      const found = await memoryHierarchy();
      const use = await readNodeMemory(found, readText);
      const where = found ?? { version: 2, mountPoint: '' };
      return [
        noteMemory('memory.available', { hierarchy: where, path: '/', use, capacityBytes: use.limitBytes }),
      ];
    },
    async 'pods memory'() {
      const [path, found] = [deps.podsCgroup(), await memoryHierarchy()];
      if (path === undefined || found === undefined) return [];
      const use = await readCgroupMemory(found, path, readText);
      const { limitBytes } = use;
      if (limitBytes === undefined) return [];
      const reading = { hierarchy: found, path, use, capacityBytes: limitBytes };
      return [noteMemory('allocatableMemory.available', reading)];
    },
    nodefs: async () => amountsOfSpace('nodefs', await fileSystems.nodeSpace()),
    async imagefs(signal) {
      const space = await fileSystems.imageSpace(signal);
      return space === undefined ? [] : amountsOfSpace('imagefs', space);
    },
    async pids() {
      const numbers = await readProcessNumbers(readText);
      return numbers === undefined ? [] : [['pid.available', numbers]];
    },
  };

  async function measure(
    group: Group,
    signal: AbortSignal,
  ): Promise<readonly (readonly [Signal, Observation])[]> {
    try {
      const amounts = await MEASURES[group](signal);
      failing.delete(group);
      const atMs = clock.monotonic();
      return amounts
        .filter(([name]) => signals.has(name))
        .map(([name, { available, capacity }]) => [name, { available, capacity, atMs }] as const);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!failing.has(group))
        log.warn({ err: asError(thrown), of: group }, 'Failed to measure eviction signals');
      failing.add(group);
      return [];
    }
  }

  return {
    memoryReadings: () => readings,
    onObserved(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async observe(signal) {
      const measured = await Promise.all([...groups].map((group) => measure(group, signal)));
      listeners.notify();
      return new Map(measured.flat());
    },
  };
}
