/** Checks for exclusive CPUs and NUMA memory: topology, controllers, settings and checkpoint files. */
import { join } from 'node:path';
import { threadsPerCore } from '../../machine/cpu-topology.ts';
import { readMachineTopology } from '../../machine/read-topology.ts';
import { policyOf } from '../../resources/state/other-policy.ts';
import { MOST_NODES } from '../../resources/topology/hints.ts';
import type { Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

async function hasCpusets(machine: Machine): Promise<boolean> {
  const unified = await machine.read('/sys/fs/cgroup/cgroup.controllers');
  const present = unified === undefined ? await machine.list('/sys/fs/cgroup') : unified.trim().split(/\s+/);
  return present.includes('cpuset');
}

/** Returns a problem of the checkpoint file of an earlier agent, with its remedy. */
async function staleFile(
  machine: Machine,
  name: string,
  policy: string,
): Promise<Pick<Finding, 'detail' | 'advice'> | undefined> {
  const path = join(machine.settings.rootDir, name);
  const text = await machine.read(path);
  const found = text === undefined ? policy : policyOf(text);
  if (found === policy) return undefined;
  const detail = `${path} is ${found === undefined ? 'corrupt' : `of policy ${found}, not ${policy}`}`;
  return { detail, advice: `drain the node and remove ${path}; otherwise the agent does not start` };
}

const NO_CPUSETS = 'without the cgroup controller cpuset, containers are not pinned to CPUs';

export async function checkProcessors(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'processors' } as const;
  const { cpuManagerPolicy: policy, reservesCpus } = machine.settings;
  const { cpu } = await readMachineTopology(machine.path('/'));
  const threads = threadsPerCore(cpu);
  const shape = `${count(cpu.all.size, 'CPU')}, ${count(cpu.sockets, 'socket')}, ${count(threads, 'thread')} per core`;
  const detail = `${shape}, policy ${policy}`;
  const stale = await staleFile(machine, 'cpu_manager_state', policy);
  if (stale !== undefined) return [{ ...base, state: 'broken', ...stale }];
  if (!(await hasCpusets(machine))) {
    const state = policy === 'none' ? 'limited' : 'broken';
    return [{ ...base, state, detail: `${detail}; the CPU manager cannot work`, advice: NO_CPUSETS }];
  }
  if (policy === 'none') return [{ ...base, state: 'ok', detail }];
  if (!reservesCpus) {
    const advice = 'set --reserved-cpus, or cpu in --system-reserved or --plat-reserved';
    return [{ ...base, state: 'broken', detail: `${detail}, and no CPU is reserved`, advice }];
  }
  if (cpu.all.size > 1) return [{ ...base, state: 'ok', detail }];
  const advice = 'the only CPU is reserved: no container can get an exclusive CPU';
  return [{ ...base, state: 'limited', detail, advice }];
}

export async function checkMemoryNodes(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'NUMA nodes' } as const;
  const { memoryManagerPolicy: memory, topologyManagerPolicy: topology } = machine.settings;
  const { nodes } = await readMachineTopology(machine.path('/'));
  const detail = `${Math.max(1, nodes.length)}, memory policy ${memory}, topology policy ${topology}`;
  const stale = await staleFile(machine, 'memory_manager_state', memory);
  if (stale !== undefined) return [{ ...base, state: 'broken', ...stale }];
  if (memory === 'Static' && !(await hasCpusets(machine))) {
    return [
      { ...base, state: 'broken', detail: `${detail}; the memory manager cannot work`, advice: NO_CPUSETS },
    ];
  }
  if (memory === 'Static' && nodes.length === 0) {
    const advice = 'the kernel reports no NUMA nodes (CONFIG_NUMA): set --memory-manager-policy=None';
    return [{ ...base, state: 'broken', detail, advice }];
  }
  if (topology !== 'none' && nodes.length > MOST_NODES) {
    const advice = `more than ${MOST_NODES} NUMA nodes are supported only with topology policy none`;
    return [{ ...base, state: 'broken', detail, advice }];
  }
  return [{ ...base, state: 'ok', detail }];
}
