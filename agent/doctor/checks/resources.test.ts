import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import type { Finding } from '../finding.ts';
import { createMachine, type DoctorSettings, type Machine } from '../machine.ts';
import { checkMemoryNodes, checkProcessors } from './resources.ts';

type Files = Readonly<Record<string, string>>;

const CPUSETS: Files = { '/sys/fs/cgroup/cgroup.controllers': 'cpu cpuset memory' };
const CPUS: Files = {
  '/sys/devices/system/cpu/online': '0-1',
  '/sys/devices/system/cpu/cpu0/topology/core_cpus_list': '0-1',
  '/sys/devices/system/cpu/cpu1/topology/core_cpus_list': '0-1',
};
const NONE = '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}';

async function look(
  check: (machine: Machine) => Promise<readonly Finding[]>,
  files: Files,
  settings: Partial<DoctorSettings>,
): Promise<string> {
  await using folder = await createTempDir('na-doctor-');
  for (const [path, text] of Object.entries(files)) {
    const target = join(folder.path, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  const machine = createMachine({
    root: folder.path,
    settings: {
      runtimeEndpoint: '',
      dockerEndpoint: '',
      rootDir: '/r',
      podLogsDir: '/l',
      volumePluginDir: '/p',
      cgroupDriver: 'cgroupfs',
      cpuManagerPolicy: 'none',
      reservesCpus: false,
      memoryManagerPolicy: 'None',
      topologyManagerPolicy: 'none',
      platconfig: '',
      certDir: '/var/lib/agent/pki',
      gates: new Set(['CSIMigration', 'CSIMigrationAWS']),
      ...settings,
    },
    agent: { running: false, version: '', waits: [] },
    uid: 0,
    kernelRelease: '6.1.0',
    readHardware: () => Promise.resolve({ system: '', memory: [], disks: [] }),
    readDockerFacts: () => Promise.reject(new Error('must not be called')),
    readServerInfo: () => Promise.reject(new Error('must not be called')),
    readRuntimeInfo: () => Promise.reject(new Error('must not be called')),
  });
  return (await check(machine))
    .map(({ state, detail, advice = '' }) => `${state}: ${detail} (${advice})`)
    .join();
}

describe('checkProcessors', () => {
  test.each<[string, Files, Partial<DoctorSettings>, RegExp]>([
    ['what there is', { ...CPUS, ...CPUSETS }, {}, /^ok: 2 CPUs, 1 socket, 2 threads per core, policy none/],
    [
      'no controller',
      CPUS,
      {},
      /^limited: .* the CPU manager cannot work \(without the cgroup controller cpuset/,
    ],
    ['no controller that is needed', CPUS, { cpuManagerPolicy: 'static' }, /^broken: .* cannot work/],
    [
      'no reservation',
      { ...CPUS, ...CPUSETS },
      { cpuManagerPolicy: 'static' },
      /^broken: .* no CPU is reserved \(set --reserved-cpus/,
    ],
    [
      'everything in place',
      { ...CPUS, ...CPUSETS },
      { cpuManagerPolicy: 'static', reservesCpus: true },
      /^ok: .* policy static/,
    ],
    [
      'a single processor',
      { '/sys/devices/system/cpu/online': '0', ...CPUSETS },
      { cpuManagerPolicy: 'static', reservesCpus: true },
      /^limited: 1 CPU, .* no container can get an exclusive CPU/,
    ],
    [
      'a file of another policy',
      { ...CPUS, ...CPUSETS, '/r/cpu_manager_state': NONE },
      { cpuManagerPolicy: 'static', reservesCpus: true },
      /^broken: \/r\/cpu_manager_state is of policy none, not static \(drain the node and remove/,
    ],
  ])('reports %s', async (_, files, settings, expected) => {
    expect(await look(checkProcessors, files, settings)).toMatch(expected);
  });
});

describe('checkMemoryNodes', () => {
  const nodes = (last: number): Files => ({ '/sys/devices/system/node/online': `0-${last}` });
  test.each<[string, Files, Partial<DoctorSettings>, RegExp]>([
    ['what there is', { ...nodes(1), ...CPUSETS }, {}, /^ok: 2, memory policy None, topology policy none/],
    ['a kernel without', CPUSETS, { memoryManagerPolicy: 'Static' }, /^broken: .*CONFIG_NUMA/],
    [
      'no controller',
      nodes(1),
      { memoryManagerPolicy: 'Static' },
      /^broken: .* the memory manager cannot work/,
    ],
    ['too many', nodes(8), { topologyManagerPolicy: 'restricted' }, /^broken: 9, .*more than 8 NUMA nodes/],
    [
      'a broken file',
      { '/r/memory_manager_state': '{' },
      {},
      /^broken: \/r\/memory_manager_state is corrupt/,
    ],
  ])('reports %s', async (_, files, settings, expected) => {
    expect(await look(checkMemoryNodes, files, settings)).toMatch(expected);
  });
});
