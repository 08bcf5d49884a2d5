/** Driver `systemd`: cgroups are slices, which systemd creates and whose limits it manages. A limit that is
 *  written directly into the files of a slice would be lost at its next change.
 *  @see systemd.resource-control(5); upstream's systemd cgroup manager, 1.24 */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { DBusError } from '../../dbus/connection.ts';
import type { CgroupMaker } from '../cgroupfs-driver.ts';
import { type CgroupLimits, weightOf } from '../limits.ts';
import { cgroupPath, sliceName } from '../names.ts';
import type { CgroupTree } from '../tree.ts';
import type { SystemdManager, UnitProperty } from './manager.ts';

const INFINITY = 2n ** 64n - 1n;
const US_PER_S = 1_000_000n;
const UNIT_EXISTS = 'org.freedesktop.systemd1.UnitExists';
const NO_SUCH_UNIT = 'org.freedesktop.systemd1.NoSuchUnit';
/** systemd replies before the directory exists. */
const APPEAR_TRIES = 80;
const APPEAR_AFTER_MS = 25;

/** Maps limits to systemd properties. Absent limits are reset, unless they are to be retained. Pure. */
export function sliceProperties(
  limits: CgroupLimits,
  version: 1 | 2,
  others: 'keep' | 'reset' = 'reset',
): readonly UnitProperty[] {
  const { cpuShares, cpuQuotaUs = 0n, cpuPeriodUs = 100_000n, memoryBytes, memoryMinBytes, pids } = limits;
  const quota = cpuQuotaUs === 0n ? INFINITY : (cpuQuotaUs * US_PER_S) / cpuPeriodUs;
  const all: readonly UnitProperty[] = [
    ...(cpuShares === undefined
      ? []
      : [
          version === 2 ? (['CPUWeight', weightOf(cpuShares)] as const) : (['CPUShares', cpuShares] as const),
        ]),
    ['CPUQuotaPerSecUSec', quota],
    ...(cpuQuotaUs === 0n ? [] : [['CPUQuotaPeriodUSec', cpuPeriodUs] as const]),
    [version === 2 ? 'MemoryMax' : 'MemoryLimit', memoryBytes ?? INFINITY],
    ...(version === 2 ? [['MemoryMin', memoryMinBytes ?? 0n] as const] : []),
    ['TasksMax', pids ?? INFINITY],
  ];
  if (others === 'reset') return all;
  return all.filter(([name, value]) => value !== INFINITY && !(name === 'MemoryMin' && value === 0n));
}

const ACCOUNTING: readonly UnitProperty[] = [
  ['Description', 'Cgroup of pods'],
  ['DefaultDependencies', false],
  ['CPUAccounting', true],
  ['MemoryAccounting', true],
  ['TasksAccounting', true],
];

export interface SliceDeps {
  readonly tree: CgroupTree;
  readonly manager: SystemdManager;
  readonly clock: Clock;
}

const unitOf = (path: string): string => path.split('/').at(-1) ?? '';

const ignoring = (errorName: string) => (thrown: unknown) => {
  if (!(thrown instanceof DBusError && thrown.errorName === errorName)) throw thrown;
};

export function createSliceMaker({ tree, manager, clock }: SliceDeps): CgroupMaker {
  async function appeared(path: string): Promise<void> {
    for (let attempt = 0; attempt < APPEAR_TRIES && !(await tree.exists(path)); attempt += 1) {
      await sleep(clock, APPEAR_AFTER_MS);
    }
  }

  return {
    driver: 'systemd',
    tree,
    path: (name) => cgroupPath(name, 'systemd'),
    parent: sliceName,
    async set(name, limits) {
      const unit = sliceName(name);
      const path = cgroupPath(name, 'systemd');
      const properties = sliceProperties(limits, tree.version);
      const start = {
        member: 'StartTransientUnit',
        unit,
        properties: [...ACCOUNTING, ...properties],
      } as const;
      try {
        await manager.call(start);
        await appeared(path);
      } catch (thrown) {
        ignoring(UNIT_EXISTS)(thrown);
        await manager.call({ member: 'SetUnitProperties', unit, properties });
      }
      // systemd has no huge page properties: it leaves those limits alone, and their controller to the root.
      const { hugePages } = limits;
      if (hugePages === undefined || !(await tree.controllers(path)).has('hugetlb')) return [];
      return tree.apply(path, { hugePages }, 'keep');
    },
    async limit(path, limits) {
      const properties = sliceProperties(limits, tree.version, 'keep');
      await manager.call({ member: 'SetUnitProperties', unit: unitOf(path), properties });
      return [];
    },
    async remove(path) {
      if (path.endsWith('.slice')) {
        await manager.call({ member: 'StopUnit', unit: unitOf(path) }).catch(ignoring(NO_SUCH_UNIT));
      }
      await tree.remove(path);
    },
    close: () => manager.close(),
  };
}
