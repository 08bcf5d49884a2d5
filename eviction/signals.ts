/** Eviction signals: observed resources of the node, their conditions and observations. Pure.
 *  Source: eviction signals (`--eviction-hard`), document 3 §4.3; upstream, release 1.24. */

export const SIGNALS = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'pid.available',
] as const;

export type Signal = (typeof SIGNALS)[number];

/** Pressure conditions of a node. */
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** Properties of a signal. */
export type Scarce = 'memory' | 'disk' | 'inodes' | 'pids';

export interface SignalFacts {
  readonly condition: PressureCondition;
  readonly scarce: Scarce;
  /** Resource name in messages. */
  readonly resource: string;
  /** Unit of its values. */
  readonly unit: 'bytes' | 'count';
}

const MEMORY: SignalFacts = {
  condition: 'MemoryPressure',
  scarce: 'memory',
  resource: 'memory',
  unit: 'bytes',
};
const DISK: SignalFacts = {
  condition: 'DiskPressure',
  scarce: 'disk',
  resource: 'ephemeral-storage',
  unit: 'bytes',
};
const INODES: SignalFacts = {
  condition: 'DiskPressure',
  scarce: 'inodes',
  resource: 'inodes',
  unit: 'count',
};

export const SIGNAL_FACTS: Readonly<Record<Signal, SignalFacts>> = {
  'memory.available': MEMORY,
  'allocatableMemory.available': MEMORY,
  'nodefs.available': DISK,
  'nodefs.inodesFree': INODES,
  'imagefs.available': DISK,
  'imagefs.inodesFree': INODES,
  'pid.available': { condition: 'PIDPressure', scarce: 'pids', resource: 'pids', unit: 'count' },
};

const NAMES: ReadonlySet<string> = new Set(SIGNALS);

export const isSignal = (name: string): name is Signal => NAMES.has(name);

/** Observation of a signal. */
export interface Observation {
  /** Bytes, inodes or process IDs. */
  readonly available: number;
  readonly capacity: number;
  /** Time of the measurement, monotonic ms: an unchanged time means that there is nothing new. */
  readonly atMs: number;
}

/** Measured signals. A missing one has no effect. */
export type Observations = ReadonlyMap<Signal, Observation>;
