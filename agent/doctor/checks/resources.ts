/** Whether processors and memory nodes can be given to containers here, and why not. */
import { join } from 'node:path';
import { threadsPerCore } from '../../resources/cpu/topology.ts';
import { readMachineTopology } from '../../resources/machine/read.ts';
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

/** What is wrong with the file of an earlier agent, with the remedy. */
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
  return { detail, advice: `drain the node and remove ${path}, or the agent does not start` };
}

const NO_CPUSETS = 'without the cgroup controller cpuset, containers run wherever the kernel puts them';

export async function checkProcessors(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'processors' } as const;
  const { cpuManagerPolicy: policy, reservesCpus } = machine.settings;
  const { cpu } = await readMachineTopology(machine.path('/'));
  const threads = threadsPerCore(cpu);
  const shape = `${count(cpu.all.size, 'processor')}, ${count(cpu.sockets, 'socket')}, ${count(threads, 'thread')} a core`;
  const detail = `${shape}, policy ${policy}`;
  const stale = await staleFile(machine, 'cpu_manager_state', policy);
  if (stale !== undefined) return [{ ...base, state: 'broken', ...stale }];
  if (!(await hasCpusets(machine))) {
    const state = policy === 'none' ? 'limited' : 'broken';
    return [{ ...base, state, detail: `${detail}; the CPU manager can't work`, advice: NO_CPUSETS }];
  }
  if (policy === 'none') return [{ ...base, state: 'ok', detail }];
  if (!reservesCpus) {
    const advice = 'set --reserved-cpus, or cpu in --system-reserved or --plat-reserved';
    return [{ ...base, state: 'broken', detail: `${detail}, and none is reserved`, advice }];
  }
  if (cpu.all.size > 1) return [{ ...base, state: 'ok', detail }];
  const advice = 'the only processor is reserved: no container gets one of its own';
  return [{ ...base, state: 'limited', detail, advice }];
}

export async function checkMemoryNodes(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'node', subject: 'memory nodes' } as const;
  const { memoryManagerPolicy: memory, topologyManagerPolicy: topology } = machine.settings;
  const { nodes } = await readMachineTopology(machine.path('/'));
  const detail = `${Math.max(1, nodes.length)}, memory policy ${memory}, topology policy ${topology}`;
  const stale = await staleFile(machine, 'memory_manager_state', memory);
  if (stale !== undefined) return [{ ...base, state: 'broken', ...stale }];
  if (memory === 'Static' && !(await hasCpusets(machine))) {
    return [
      { ...base, state: 'broken', detail: `${detail}; the memory manager can't work`, advice: NO_CPUSETS },
    ];
  }
  if (memory === 'Static' && nodes.length === 0) {
    const advice = 'the kernel tells of no memory nodes (CONFIG_NUMA): set --memory-manager-policy=None';
    return [{ ...base, state: 'broken', detail, advice }];
  }
  if (topology !== 'none' && nodes.length > MOST_NODES) {
    const advice = `no topology policy but none works beyond ${MOST_NODES}`;
    return [{ ...base, state: 'broken', detail, advice }];
  }
  return [{ ...base, state: 'ok', detail }];
}
