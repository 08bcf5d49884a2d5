import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import type { MemoryNode } from '../../machine/parse-topology.ts';
import { requestsOf } from '../requests.ts';
import type { StateFile } from '../state/state-file.ts';
import { createMemoryManager } from './memory-manager.ts';
import {
  type MemorySettingsConfig,
  memoryManagerPolicy,
  nodeMemories,
  reservedMemoryBytes,
} from './memory-settings.ts';
import { MemoryStateError, parseMemoryState } from './memory-state.ts';

const GI = 1024 ** 3;
const MI = 1024 ** 2;
const NODES: readonly MemoryNode[] = [
  { id: 0, memoryBytes: 4 * GI, hugePages: [] },
  { id: 1, memoryBytes: 4 * GI, hugePages: [{ sizeBytes: 2 * MI, count: 512 }] },
];

const config = (more: Partial<MemorySettingsConfig> = {}): MemorySettingsConfig => ({
  memoryManagerPolicy: 'Static',
  reservedMemory: [{ numaNode: 0, limits: { memory: '1124Mi' } }],
  systemReserved: { memory: '1Gi' },
  platReserved: {},
  evictionHard: { 'memory.available': '100Mi' },
  experimentalAllocatableIgnoreEviction: false,
  featureGates: {},
  ...more,
});

describe('settings', () => {
  test('the gate disables the manager', () => {
    expect(memoryManagerPolicy(config())).toBe('Static');
    expect(memoryManagerPolicy(config({ featureGates: { MemoryManager: false } }))).toBe('None');
  });

  test('allocatable excludes reservations and huge pages', () => {
    const reservedMemory = [
      { numaNode: 0, limits: { memory: '1000Mi' } },
      { numaNode: 1, limits: { memory: '124Mi', 'hugepages-2048Ki': '4Mi' } },
    ];
    const nodes = nodeMemories(config({ reservedMemory }), NODES, 8 * GI);
    expect(nodes.map(({ tables }) => Object.fromEntries(tables))).toEqual([
      { memory: { total: 4 * GI, systemReserved: 1000 * MI, allocatable: 4 * GI - 1000 * MI } },
      {
        memory: { total: 4 * GI, systemReserved: 124 * MI, allocatable: 3 * GI - 124 * MI },
        'hugepages-2Mi': { total: GI, systemReserved: 4 * MI, allocatable: GI - 4 * MI },
      },
    ]);
  });

  test.each<[string, Partial<MemorySettingsConfig>, number]>([
    ['both reservations and what eviction keeps', { platReserved: { memory: '1Gi' } }, 2 * GI + 100 * MI],
    ['a share of the memory', { evictionHard: { 'memory.available': '50%' }, systemReserved: {} }, 4 * GI],
    ['without eviction', { experimentalAllocatableIgnoreEviction: true }, GI],
  ])('the reservation contains %s', (_, more, bytes) => {
    expect(reservedMemoryBytes(config(more), 8 * GI)).toBe(bytes);
  });

  test.each<[string, Partial<MemorySettingsConfig>, RegExp]>([
    ['too little', { reservedMemory: [] }, /names 0 of memory, and 1124Mi are reserved .* 0:memory=1124Mi/],
    ['too much', { evictionHard: {} }, /names 1124Mi of memory, and 1Gi are reserved/],
    [
      'on a node that is not there',
      { reservedMemory: [{ numaNode: 2, limits: { memory: '1124Mi' } }] },
      /no NUMA node 2/,
    ],
    [
      'more than a node has',
      {
        reservedMemory: [{ numaNode: 1, limits: { memory: '5Gi' } }],
        systemReserved: { memory: '5Gi' },
        evictionHard: {},
      },
      /node 1 has 3Gi of memory, but 5Gi would be reserved/,
    ],
  ])('rejected: %s', (_, more, message) => {
    expect(() => nodeMemories(config(more), NODES, 8 * GI)).toThrow(message);
  });
});

/** The file of upstream's own tests, with its checksum. */
const UPSTREAMS = {
  policyName: 'static',
  machineState: {
    '0': {
      numberOfAssignments: 0,
      memoryMap: {
        memory: { total: 2048, systemReserved: 512, allocatable: 1536, reserved: 512, free: 1024 },
      },
      cells: [],
    },
  },
  entries: { pod: { container1: [{ numaAffinity: [0], type: 'memory', size: 512 }] } },
  checksum: 4_215_593_881,
};

describe('a state file', () => {
  test('of upstream is read', () => {
    expect(parseMemoryState(JSON.stringify(UPSTREAMS)).assignments).toEqual([
      {
        podUID: 'pod',
        container: 'container1',
        init: false,
        blocks: [{ nodes: [0], type: 'memory', sizeBytes: 512 }],
      },
    ]);
  });

  test.each<[string, unknown, RegExp]>([
    ['with another checksum', { ...UPSTREAMS, checksum: 1 }, /corrupt/],
    ['without a policy', { ...UPSTREAMS, policyName: 1 }, /lacks the policy/],
    ['with blocks that are none', { ...UPSTREAMS, entries: { p: { c: [1] } } }, /entry p c is not an object/],
    [
      'with a size that is none',
      { ...UPSTREAMS, machineState: { 0: { memoryMap: {} } } },
      /node 0 is not a number/,
    ],
    ['that is a list', [], /it is not an object/],
  ])('%s is rejected', (_, file, message) => {
    expect(() => parseMemoryState(JSON.stringify(file))).toThrow(MemoryStateError);
    expect(() => parseMemoryState(JSON.stringify(file))).toThrow(message);
  });
});

function createFile(text?: string): StateFile & { readonly disk: { text: string | undefined } } {
  const disk = { text };
  return {
    disk,
    path: '/r/memory_manager_state',
    read: () => Promise.resolve(disk.text),
    save: (next) => {
      disk.text = next;
    },
    saved: () => Promise.resolve(),
  };
}

const guaranteed = (uid: string, memory: string, more: Readonly<Record<string, string>> = {}): Pod => ({
  metadata: { uid },
  spec: { containers: [{ name: 'c', resources: { limits: { cpu: '1', memory, ...more } } }] },
});
const ANYWHERE = { nodes: undefined, preferred: false };

async function setUp(text?: string, more: Partial<MemorySettingsConfig> = {}) {
  const file = createFile(text);
  const manager = await createMemoryManager({ file }, nodeMemories(config(more), NODES, 8 * GI));
  const admit = (pod: Pod): void => {
    for (const request of requestsOf(pod)) manager.allocate(request, ANYWHERE);
  };
  const memsOf = async (pod: Pod): Promise<string | undefined> => {
    const [request] = requestsOf(pod);
    return request === undefined ? undefined : (await manager.grant?.(request))?.cpusetMems;
  };
  return { manager, admit, memsOf, file };
}

describe('the memory manager', () => {
  test('assigns containers to nodes with enough memory', async () => {
    const { manager, admit, memsOf } = await setUp();
    const small = guaranteed('a', '2Gi');
    const pages = guaranteed('b', '1Gi', { 'hugepages-2Mi': '1Gi' });
    admit(small);
    admit(pages);
    expect([await memsOf(small), await memsOf(pages)]).toEqual(['0', '1']);
    expect(await memsOf({ metadata: { uid: 'x' }, spec: { containers: [{ name: 'c' }] } })).toBe('');
    expect(manager.held('b', 'c')).toEqual([
      { type: 'memory', sizeBytes: GI, nodes: [1] },
      { type: 'hugepages-2Mi', sizeBytes: GI, nodes: [1] },
    ]);
    expect(() => admit(guaranteed('d', '4Gi'))).toThrow(/no NUMA nodes have enough memory/);
    manager.release('a');
    expect([...manager.holders()]).toEqual(['b']);
  });

  test('returns hints for containers and for pods', async () => {
    const { manager, admit } = await setUp();
    const pod = guaranteed('a', '3500Mi');
    const [request] = requestsOf(pod);
    if (request === undefined) throw new Error('no container');
    const two = { nodes: 3, preferred: true };
    // Reservations and huge pages reduce what is left on each node.
    expect(manager.hints(request)).toEqual({ memory: [two] });
    expect(manager.podHints(pod)).toEqual({ memory: [two] });
    expect(manager.podHints({ spec: { containers: [{ name: 'c' }] } })).toEqual({ memory: undefined });
    admit(guaranteed('a', '1Gi'));
    const again = requestsOf(guaranteed('a', '1Gi'))[0];
    if (again === undefined) throw new Error('no container');
    expect(manager.hints(again)).toEqual({ memory: [{ nodes: 1, preferred: true }] });
  });

  test('retains everything over a restart', async () => {
    const before = await setUp();
    before.admit(guaranteed('a', '2Gi'));
    const after = await setUp(before.file.disk.text);
    expect(await after.memsOf(guaranteed('a', '2Gi'))).toBe('0');
    expect(after.file.disk.text).toBe(before.file.disk.text);
  });

  test('does not start with a state of another machine or policy, and names the remedy', async () => {
    const before = await setUp();
    before.admit(guaranteed('a', '2Gi'));
    const { text } = before.file.disk;
    const reservedMemory = [{ numaNode: 1, limits: { memory: '1124Mi' } }];
    await expect(setUp(text, { reservedMemory })).rejects.toThrow(
      /memory of node 0 was .* reserved, and is .*; drain this node, remove \/r\/memory_manager_state and start/,
    );
    const none = '{"policyName":"None","machineState":{},"entries":{},"checksum":0}';
    await expect(setUp(none)).rejects.toThrow('policy None, not Static');
    await expect(setUp('{')).rejects.toThrow('is not JSON');
    before.manager.release('a');
    // There are no assignments that could be lost.
    await expect(setUp(before.file.disk.text, { reservedMemory })).resolves.toBeDefined();
  });
});
