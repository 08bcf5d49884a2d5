/** Settings of the memory manager from the configuration. Pure.
 *  Source: upstream's memory manager and its validation of `--reserved-memory`, release 1.24. */
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityToNumber,
  subtractQuantities,
} from '#api/meta/quantity.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { decideAllocatable } from '../../machine/capacity.ts';
import type { MemoryNode } from '../../machine/parse-topology.ts';
import { ResourceStateError } from '../state/state-error.ts';
import type { MemoryTable, NodeMemory } from './node-memory.ts';

export type MemorySettingsConfig = Pick<
  AgentConfig,
  | 'memoryManagerPolicy'
  | 'reservedMemory'
  | 'systemReserved'
  | 'platReserved'
  | 'evictionHard'
  | 'experimentalAllocatableIgnoreEviction'
  | 'featureGates'
>;

export function memoryManagerPolicy(config: MemorySettingsConfig): 'None' | 'Static' {
  return featureEnabled(config, 'MemoryManager') && config.memoryManagerPolicy === 'Static'
    ? 'Static'
    : 'None';
}

const binary = (bytes: number): string => formatQuantity({ ...parseQuantity(bytes), format: 'binarySI' });

/** Returns the bytes unavailable to pods: reservations and the hard eviction threshold. */
export function reservedMemoryBytes(config: MemorySettingsConfig, capacityBytes: number): number {
  const capacity = { memory: binary(capacityBytes) };
  const allocatable = decideAllocatable(capacity, {
    maxPods: 0,
    podsPerCore: 0,
    systemReserved: config.systemReserved,
    platReserved: config.platReserved,
    reservedSystemCPUs: '',
    evictionHard: config.evictionHard,
    ignoreEviction: config.experimentalAllocatableIgnoreEviction,
    localStorage: false,
  });
  return quantityToNumber(subtractQuantities(capacity.memory, allocatable['memory'] ?? '0'));
}

const FLAG = '--reserved-memory';

/** Checks that the reservations per NUMA node add up exactly to the memory that is reserved in total.
 *  @throws ResourceStateError */
function checkReservations(
  config: MemorySettingsConfig,
  nodes: readonly MemoryNode[],
  capacityBytes: number,
): void {
  const ids = new Set(nodes.map(({ id }) => id));
  const unknown = config.reservedMemory.find(({ numaNode }) => !ids.has(numaNode));
  if (unknown !== undefined) {
    throw new ResourceStateError(`${FLAG}: this machine has no NUMA node ${unknown.numaNode}`);
  }
  const named = config.reservedMemory.reduce(
    (sum, { limits }) => sum + quantityToNumber(limits['memory'] ?? '0'),
    0,
  );
  const reserved = reservedMemoryBytes(config, capacityBytes);
  if (named === reserved) return;
  throw new ResourceStateError(
    `${FLAG} names ${binary(named)} of memory, and ${binary(reserved)} are reserved (--system-reserved, --plat-reserved and memory.available of --eviction-hard together): both must be the same, such as ${FLAG} 0:memory=${binary(reserved)}`,
  );
}

/** Returns the memory of each node that guaranteed pods may use.
 *  @param capacityBytes total memory of the machine, of which percentages are taken
 *  @throws ResourceStateError for reservations that do not fit this machine or the other reservations */
export function nodeMemories(
  config: MemorySettingsConfig,
  nodes: readonly MemoryNode[],
  capacityBytes: number,
): readonly NodeMemory[] {
  checkReservations(config, nodes, capacityBytes);
  return nodes.map(({ id, memoryBytes, hugePages }) => {
    const limits = config.reservedMemory
      .filter(({ numaNode }) => numaNode === id)
      .flatMap((one) => Object.entries(one.limits));
    const reserved = (type: string): number =>
      limits
        .filter(([name]) => isSame(name, type))
        .reduce((sum, [, text]) => sum + quantityToNumber(text), 0);
    const inPages = hugePages.reduce((sum, { sizeBytes, count }) => sum + sizeBytes * count, 0);
    const tables: [string, MemoryTable][] = [
      ['memory', tableOf({ id, type: 'memory', total: memoryBytes, reserved: reserved('memory'), inPages })],
      ...hugePages.map(({ sizeBytes, count }): [string, MemoryTable] => {
        const type = `hugepages-${binary(sizeBytes)}`;
        const total = sizeBytes * count;
        return [type, tableOf({ id, type, total, reserved: reserved(type), inPages: 0 })];
      }),
    ];
    return { id, tables: new Map(tables) };
  });
}

/** Huge page sizes have several spellings. */
function isSame(name: string, type: string): boolean {
  if (name === type) return true;
  const [a, b] = [name, type].map((one) => one.replace(/^hugepages-/, ''));
  if (a === name || b === type || a === undefined || b === undefined) return false;
  return compareQuantities(a, b) === 0;
}

interface TableParts {
  readonly id: number;
  readonly type: string;
  readonly total: number;
  readonly reserved: number;
  /** Bytes in huge pages, which are not available as regular memory. */
  readonly inPages: number;
}

function tableOf({ id, type, total, reserved, inPages }: TableParts): MemoryTable {
  const allocatable = total - reserved - inPages;
  if (allocatable < 0) {
    throw new ResourceStateError(
      `${FLAG}: NUMA node ${id} has ${binary(total - inPages)} of ${type}, but ${binary(reserved)} would be reserved`,
    );
  }
  return { total, systemReserved: reserved, allocatable };
}
