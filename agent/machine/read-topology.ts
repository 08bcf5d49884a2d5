/** Reads CPU and NUMA topology from /sys. */
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { inOrder } from './cpu-set.ts';
import { hugePageSizeBytes } from './memory.ts';
import {
  type CpuFiles,
  cpusOf,
  type HugePages,
  type MachineTopology,
  machineTopology,
  type NodeFiles,
} from './parse-topology.ts';

const CPUS = 'sys/devices/system/cpu';
const NODES = 'sys/devices/system/node';

/** @param base mount point of `/sys`; another tree in tests */
export async function readMachineTopology(base = '/'): Promise<MachineTopology> {
  const read = (...path: readonly string[]): Promise<string> =>
    readFile(join(base, ...path), 'utf8').then(
      (text) => text.trim(),
      () => '',
    );

  async function readCpu(cpu: number): Promise<CpuFiles> {
    const folder = join(CPUS, `cpu${cpu}`, 'topology');
    const [socket, cores, threads] = await Promise.all([
      read(folder, 'physical_package_id'),
      read(folder, 'core_cpus_list'),
      read(folder, 'thread_siblings_list'),
    ]);
    return { cpu, socket, siblings: cores === '' ? threads : cores };
  }

  async function readNode(id: number): Promise<NodeFiles> {
    const folder = join(NODES, `node${id}`);
    const names = await readdir(join(base, folder, 'hugepages')).catch(() => []);
    const pages = names.map(async (name): Promise<readonly HugePages[]> => {
      const sizeBytes = hugePageSizeBytes(name);
      if (sizeBytes === undefined) return [];
      const count = Number.parseInt(await read(folder, 'hugepages', name, 'nr_hugepages'), 10) || 0;
      return [{ sizeBytes, count }];
    });
    const [cpulist, meminfo, hugePages] = await Promise.all([
      read(folder, 'cpulist'),
      read(folder, 'meminfo'),
      Promise.all(pages),
    ]);
    return {
      id,
      cpulist,
      meminfo,
      hugePages: hugePages.flat().toSorted((a, b) => a.sizeBytes - b.sizeBytes),
    };
  }

  const listed = cpusOf(await read(CPUS, 'online'));
  const online =
    listed.size > 0 ? listed : new Set(Array.from({ length: availableParallelism() }, (_, i) => i));
  const [cpus, nodes] = await Promise.all([
    Promise.all(inOrder(online).map(readCpu)),
    Promise.all(inOrder(cpusOf(await read(NODES, 'online'))).map(readNode)),
  ]);
  return machineTopology(online, cpus, nodes);
}
