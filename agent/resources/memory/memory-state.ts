/** State file `memory_manager_state`: memory assignments by NUMA node, in upstream's format. Pure.
 *  Source: upstream's memory manager checkpoint, release 1.24. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';
import { fnv32a, mapText } from '../state/checksum.ts';
import {
  freeBytes,
  type MemoryAssignment,
  type MemoryBlock,
  type MemoryTable,
  type NodeMemory,
  useOf,
} from './node-memory.ts';

export const MEMORY_POLICY = 'Static';

export interface MemoryState {
  readonly policy: string;
  /** The machine at the time of writing. */
  readonly nodes: readonly NodeMemory[];
  readonly assignments: readonly MemoryAssignment[];
}

/** A state that cannot be restored; the message names the defect. */
export class MemoryStateError extends Error {
  override readonly name = 'MemoryStateError';
}

/** Member names and order of the file. */
interface StoredTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}
interface StoredNode {
  readonly numberOfAssignments: number;
  readonly memoryMap: Readonly<Record<string, StoredTable>>;
  readonly cells: readonly number[];
}
interface StoredBlock {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}
interface Stored {
  readonly policyName: string;
  readonly machineState: Readonly<Record<string, StoredNode>>;
  readonly entries: Readonly<Record<string, Readonly<Record<string, readonly StoredBlock[]>>>>;
}

const mapped = <T>(record: Readonly<Record<string, T>>, text: (value: T) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, text(value)]));

const tableText = ({ total, systemReserved, allocatable, reserved, free }: StoredTable): string =>
  `<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} Allocatable:(uint64)${allocatable} ` +
  `Reserved:(uint64)${reserved} Free:(uint64)${free}}`;

const nodeText = ({ numberOfAssignments, memoryMap, cells }: StoredNode): string =>
  `<*>{NumberOfAssignments:(int)${numberOfAssignments} ` +
  `MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${mapText(mapped(memoryMap, tableText))} ` +
  `Cells:([]int)[${cells.join(' ')}]}`;

const blockText = ({ numaAffinity, type, size }: StoredBlock): string =>
  `{NUMAAffinity:([]int)[${numaAffinity.join(' ')}] Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;

/** Returns the text over which upstream computes the checksum. */
function checksumOf({ policyName, machineState, entries }: Stored): number {
  const pods = mapped(entries, (containers) =>
    mapText(mapped(containers, (blocks) => `[${blocks.map(blockText).join(' ')}]`)),
  );
  return fnv32a(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policyName} ` +
      `MachineState:(state.NUMANodeMap)${mapText(mapped(machineState, nodeText), (a, b) => Number(a) - Number(b))} ` +
      `Entries:(state.ContainerMemoryAssignments)${mapText(pods)} Checksum:(checksum.Checksum)0}`,
  );
}

function storedNodes({ nodes, assignments }: MemoryState): Stored['machineState'] {
  const use = useOf(nodes, assignments);
  const stored = nodes.map((node): [string, StoredNode] => {
    const { assignments: count = 0, group = [node.id], reserved } = use.get(node.id) ?? {};
    const tables = [...node.tables].map(([type, table]): [string, StoredTable] => [
      type,
      { ...table, reserved: reserved?.get(type) ?? 0, free: freeBytes(node, use.get(node.id), type) },
    ]);
    return [
      String(node.id),
      { numberOfAssignments: count, memoryMap: Object.fromEntries(tables), cells: group },
    ];
  });
  return Object.fromEntries(stored);
}

export function formatMemoryState(state: MemoryState): string {
  const entries: Record<string, Record<string, readonly StoredBlock[]>> = {};
  for (const { podUID, container, blocks } of state.assignments) {
    const stored = blocks.map(({ nodes, type, sizeBytes }) => ({
      numaAffinity: nodes,
      type,
      size: sizeBytes,
    }));
    entries[podUID] = { ...entries[podUID], [container]: stored };
  }
  const stored: Stored = { policyName: state.policy, machineState: storedNodes(state), entries };
  return JSON.stringify({ ...stored, checksum: checksumOf(stored) });
}

function recordOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new MemoryStateError(`${what} is not an object`);
  return value;
}

function numberOf(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new MemoryStateError(`${what} is not a number`);
  }
  return value;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new MemoryStateError(`${what} is not a list`);
  return value;
}

const numbersOf = (value: unknown, what: string): readonly number[] =>
  listOf(value, what).map((one) => numberOf(one, what));

const parseMap = <T>(
  value: unknown,
  what: string,
  parse: (value: unknown, what: string) => T,
): Readonly<Record<string, T>> =>
  Object.fromEntries(
    Object.entries(recordOf(value, what)).map(([key, one]) => [key, parse(one, `${what} ${key}`)]),
  );

function parseTable(value: unknown, what: string): StoredTable {
  const table = recordOf(value, what);
  const read = (name: string): number => numberOf(table[name], `${what} ${name}`);
  return {
    total: read('total'),
    systemReserved: read('systemReserved'),
    allocatable: read('allocatable'),
    reserved: read('reserved'),
    free: read('free'),
  };
}

function parseNode(value: unknown, what: string): StoredNode {
  const { numberOfAssignments, memoryMap, cells } = recordOf(value, what);
  return {
    numberOfAssignments: numberOf(numberOfAssignments, what),
    memoryMap: parseMap(memoryMap, what, parseTable),
    cells: numbersOf(cells, what),
  };
}

function parseBlock(value: unknown, what: string): StoredBlock {
  const { numaAffinity, type, size } = recordOf(value, what);
  if (typeof type !== 'string') throw new MemoryStateError(`${what} has no type`);
  return { numaAffinity: numbersOf(numaAffinity, what), type, size: numberOf(size, what) };
}

function parseText(text: string): Readonly<Record<string, unknown>> {
  try {
    return recordOf(parseJsonText(text), 'it');
  } catch (thrown) {
    if (thrown instanceof MemoryStateError) throw thrown;
    throw new MemoryStateError('is not JSON', { cause: thrown });
  }
}

/** @throws MemoryStateError */
export function parseMemoryState(text: string): MemoryState {
  const { policyName, machineState = {}, entries = {}, checksum } = parseText(text);
  if (typeof policyName !== 'string') throw new MemoryStateError('lacks the policy');
  const containers = (value: unknown, what: string): Readonly<Record<string, readonly StoredBlock[]>> =>
    parseMap(value, what, (blocks, where) => listOf(blocks, where).map((one) => parseBlock(one, where)));
  const stored: Stored = {
    policyName,
    machineState: parseMap(machineState, 'node', parseNode),
    entries: parseMap(entries, 'entry', containers),
  };
  // Files that predate checksums contain zero.
  if (checksum !== 0 && checksum !== checksumOf(stored)) {
    throw new MemoryStateError('is corrupt: checksum mismatch');
  }
  return { policy: policyName, nodes: nodesOf(stored), assignments: assignmentsOf(stored) };
}

const nodesOf = ({ machineState }: Stored): readonly NodeMemory[] =>
  Object.entries(machineState).map(([id, { memoryMap }]) => {
    const tables = Object.entries(memoryMap).map(([type, table]): [string, MemoryTable] => {
      const { total, systemReserved, allocatable } = table;
      return [type, { total, systemReserved, allocatable }];
    });
    return { id: Number(id), tables: new Map(tables) };
  });

/** The file does not mark init containers: all containers of a pod received their memory at its admission. */
const assignmentsOf = ({ entries }: Stored): readonly MemoryAssignment[] =>
  Object.entries(entries).flatMap(([podUID, containers]) =>
    Object.entries(containers).map(([container, stored]) => {
      const blocks = stored.map(
        ({ numaAffinity, type, size }): MemoryBlock => ({ nodes: numaAffinity, type, sizeBytes: size }),
      );
      return { podUID, container, init: false, blocks };
    }),
  );

const describe = (table: MemoryTable | undefined): string =>
  table === undefined ? 'nothing' : `${table.total} bytes, ${table.systemReserved} of them reserved`;

/** Returns why the state does not fit this machine and these reservations; undefined if it does. A state
 *  without assignments fits any machine: memory sizes differ slightly from boot to boot. */
export function memoryStateError(state: MemoryState, nodes: readonly NodeMemory[]): string | undefined {
  if (state.assignments.length === 0) return undefined;
  for (const id of new Set([...state.nodes, ...nodes].map((node) => node.id))) {
    const before = state.nodes.find((node) => node.id === id)?.tables ?? new Map<string, MemoryTable>();
    const now = nodes.find((node) => node.id === id)?.tables ?? new Map<string, MemoryTable>();
    for (const type of new Set([...before.keys(), ...now.keys()])) {
      const was = describe(before.get(type));
      const is = describe(now.get(type));
      if (was !== is) return `${type} of node ${id} was ${was}, and is ${is}`;
    }
  }
  const use = useOf(nodes, state.assignments);
  const booked = [...use.values()].reduce(
    (sum, { reserved }) => sum + [...reserved.values()].reduce((all, bytes) => all + bytes, 0),
    0,
  );
  const requested = state.assignments
    .flatMap(({ blocks }) => blocks)
    .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return booked === requested ? undefined : 'allocates more memory than exists';
}
