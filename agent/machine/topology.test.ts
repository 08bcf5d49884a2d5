import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { readMachineTopology } from './read-topology.ts';

/** Files below /sys by path. */
type Tree = Readonly<Record<string, string>>;

async function topologyOf(tree: Tree) {
  await using dir = await createTempDir('na-sys-');
  for (const [path, text] of Object.entries(tree)) {
    const file = join(dir.path, 'sys/devices/system', path);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, `${text}\n`);
  }
  const { cpu, nodes } = await readMachineTopology(dir.path);
  const places = [...cpu.places.values()].map((one) => [one.cpu, one.core, one.socket, one.numa].join(' '));
  return { places, nodes };
}

const cpu = (number: number, socket: number, siblings: string, file = 'core_cpus_list'): Tree => ({
  [`cpu/cpu${number}/topology/physical_package_id`]: String(socket),
  [`cpu/cpu${number}/topology/${file}`]: siblings,
});

const node = (id: number, cpulist: string, kibibytes: number): Tree => ({
  [`node/node${id}/cpulist`]: cpulist,
  [`node/node${id}/meminfo`]: `Node ${id} MemTotal:       ${kibibytes} kB\nNode ${id} MemFree: 1 kB`,
});

test('two sockets with a NUMA node each, two threads per core, huge pages', async () => {
  const tree = {
    'cpu/online': '0-7',
    ...cpu(0, 0, '0,4'),
    ...cpu(1, 0, '1,5'),
    ...cpu(2, 1, '2,6'),
    ...cpu(3, 1, '3,7'),
    ...cpu(4, 0, '0,4'),
    ...cpu(5, 0, '1,5'),
    ...cpu(6, 1, '2,6'),
    ...cpu(7, 1, '3,7'),
    'node/online': '0-1',
    ...node(0, '0-1,4-5', 1024),
    ...node(1, '2-3,6-7', 2048),
    'node/node1/hugepages/hugepages-2048kB/nr_hugepages': '3',
    'node/node1/hugepages/hugepages-1048576kB/nr_hugepages': '0',
  };
  expect(await topologyOf(tree)).toEqual({
    // CPU, core, socket, NUMA node.
    places: ['0 0 0 0', '1 1 0 0', '2 2 1 1', '3 3 1 1', '4 0 0 0', '5 1 0 0', '6 2 1 1', '7 3 1 1'],
    nodes: [
      { id: 0, memoryBytes: 1_048_576, hugePages: [] },
      {
        id: 1,
        memoryBytes: 2_097_152,
        hugePages: [
          { sizeBytes: 2_097_152, count: 3 },
          { sizeBytes: 1_073_741_824, count: 0 },
        ],
      },
    ],
  });
});

test('several NUMA nodes in a socket, one of them without CPUs', async () => {
  const tree = {
    'cpu/online': '0-1',
    ...cpu(0, 0, '0'),
    ...cpu(1, 0, '1'),
    'node/online': '0-2',
    ...node(0, '0', 1),
    ...node(1, '1', 1),
    ...node(2, '', 4),
  };
  const { places, nodes } = await topologyOf(tree);
  expect(places).toEqual(['0 0 0 0', '1 1 0 1']);
  expect(nodes.map(({ id, memoryBytes }) => [id, memoryBytes])).toEqual([
    [0, 1024],
    [1, 1024],
    [2, 4096],
  ]);
});

test('an older kernel, an offline CPU, firmware without sockets, no NUMA nodes', async () => {
  const tree = {
    'cpu/online': '0,2-3',
    ...cpu(0, -1, '0-1', 'thread_siblings_list'),
    ...cpu(1, -1, '0-1', 'thread_siblings_list'),
    ...cpu(2, -1, '2-3', 'thread_siblings_list'),
    ...cpu(3, -1, '2-3', 'thread_siblings_list'),
  };
  expect(await topologyOf(tree)).toEqual({ places: ['0 0 0 0', '2 2 0 0', '3 2 0 0'], nodes: [] });
});

test('this machine has CPUs', async () => {
  const { cpu: topology } = await readMachineTopology();
  expect(topology.all.size).toBeGreaterThan(0);
  expect(topology.cores).toBeGreaterThan(0);
});
