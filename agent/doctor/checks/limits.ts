/** Checks for pod limits that the kernel or the privileges cannot enforce. */
import { parseHierarchies } from '../../cgroups/hierarchies.ts';
import { readDifferences } from '../../node/kernel-defaults.ts';
import type { Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';

const base = { area: 'node', subject: 'limits' } as const;

/** Read-only cgroup mounts, by mount point. */
const readOnlyMounts = (mountinfo: string): readonly string[] =>
  mountinfo.split('\n').flatMap((line) => {
    const [mount = '', fs = ''] = line.split(' - ');
    const [, , , , mountPoint = '', options = ''] = mount.split(' ');
    return /^cgroup2? /.test(fs) && options.split(',').includes('ro') ? [mountPoint] : [];
  });

/** Returns descriptions of the missing limits. */
async function lacks(machine: Machine, version: 1 | 2): Promise<readonly string[]> {
  const root = '/sys/fs/cgroup';
  if (version === 2) {
    const controllers = ((await machine.read(`${root}/cgroup.controllers`)) ?? '').trim().split(/\s+/);
    return controllers.includes('hugetlb') ? [] : ['huge pages of pods (no controller hugetlb)'];
  }
  const [memory, all] = await Promise.all([machine.list(`${root}/memory`), machine.list(root)]);
  return [
    'guaranteed memory (MemoryQoS requires cgroup v2)',
    ...(memory.includes('memory.memsw.limit_in_bytes') ? [] : ['swap (boot with swapaccount=1)']),
    ...(all.includes('hugetlb') ? [] : ['huge pages of pods (no controller hugetlb)']),
  ];
}

/** Lists each limit separately, since each has its own remedy. */
export async function checkLimits(machine: Machine): Promise<readonly Finding[]> {
  const mountinfo = (await machine.read('/proc/self/mountinfo')) ?? '';
  const hierarchies = parseHierarchies(mountinfo);
  if (hierarchies === undefined) return [];
  const readOnly = readOnlyMounts(mountinfo);
  const missing = await lacks(machine, hierarchies.version);
  const found: Finding[] = [];
  if (readOnly.length > 0) {
    const advice = 'mount them read-write; until then only container limits are enforced';
    found.push({ ...base, state: 'limited', detail: `read-only: ${readOnly.join(', ')}`, advice });
  }
  if (missing.length > 0) {
    found.push({ ...base, state: 'ok', detail: `all except ${missing.join('; ')}` });
  }
  if (!(await machine.exists('/dev/kmsg'))) {
    const advice = 'without it, OOM kills are reported by the runtime only';
    found.push({ ...base, state: 'limited', detail: '/dev/kmsg does not exist', advice });
  }
  return found.length > 0 ? found : [{ ...base, state: 'ok', detail: 'all' }];
}

/** Parameters that an agent with an API server sets, or requires at start. */
export async function checkKernelDefaults(machine: Machine): Promise<readonly Finding[]> {
  const differences = await readDifferences(machine.path('/proc/sys'));
  const subject = { area: 'node', subject: 'kernel parameters' } as const;
  if (differences.length === 0) return [{ ...subject, state: 'ok', detail: 'set as required for a node' }];
  const names = differences.map(({ name, actual }) => `${name.replaceAll('/', '.')}=${actual}`);
  const advice = `set by an agent with an API server, unless they are protected: ${differences
    .map(({ name, wanted }) => `sysctl -w ${name.replaceAll('/', '.')}=${wanted}`)
    .join(', ')}`;
  return [{ ...subject, state: 'ok', detail: `differ: ${names.join(', ')}`, advice }];
}
