/** What the node runs out of: the signals that thresholds watch, what each is about, and what was seen of it. Pure.
 *  Source: document 3, 4.3 (`--eviction-hard`); upstream's eviction signals, release 1.24. */

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

/** Conditions of a node that are told while it is short of something. */
export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** What a signal counts. */
export type Scarce = 'memory' | 'disk' | 'inodes' | 'pids';

export interface SignalFacts {
  readonly condition: PressureCondition;
  readonly scarce: Scarce;
  /** The resource as messages to people name it. */
  readonly resource: string;
  /** Unit of its amounts. */
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

/** What was seen of a signal. */
export interface Observation {
  /** Bytes, inodes or process numbers. */
  readonly available: number;
  readonly capacity: number;
  /** When it was measured, monotonic ms: the same figure seen twice proves nothing new. */
  readonly atMs: number;
}

/** Signals that could be measured. What is missing presses nobody. */
export type Observations = ReadonlyMap<Signal, Observation>;
