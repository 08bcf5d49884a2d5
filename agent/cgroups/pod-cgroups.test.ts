import { expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import { podIdentity } from '../pods/identity.ts';
import { testPod } from '../pods/test-pod.ts';
import { createCgroupfsMaker } from './cgroupfs-driver.ts';
import { createPodCgroups } from './pod-cgroups.ts';
import { createCgroupRecords } from './records.ts';
import { createCgroupTree } from './tree.ts';

/** Cgroups of which only what becomes of their folders is seen. */
function createCgroups(recordsDir: string) {
  const said: string[] = [];
  const looked = Promise.withResolvers<void>();
  const tree = createCgroupTree({
    hierarchies: { version: 1, mountPoints: new Map(), all: [] },
    clock: systemClock,
  });
  const maker: ReturnType<typeof createCgroupfsMaker> = {
    ...createCgroupfsMaker(tree),
    set(name) {
      if (name.at(-1)?.startsWith('pod') === true) said.push(`made ${name.join('/')}`);
      return Promise.resolve([]);
    },
    remove(path) {
      said.push(`removed ${path}`);
      return Promise.resolve();
    },
  };
  const records = createCgroupRecords(recordsDir);
  const cgroups = createPodCgroups(
    {
      open: () => Promise.resolve(maker),
      // Looked through at the end of each round of repair.
      records: { ...records, all: () => records.all().finally(looked.resolve) },
      clock: systemClock,
      log: silentLogger,
      event: () => undefined,
    },
    {
      perQos: true,
      root: ['all'],
      fallback: '/',
      pod: { cpuCFSQuota: true, cpuPeriodUs: 100_000n, podPidsLimit: -1, memoryQoS: false },
      hugePageSizesBytes: [],
      reservedPercent: 0,
      allocatableMemoryBytes: 0,
      rootLimits: {},
    },
  );
  return { cgroups, said, looked: looked.promise };
}

test('a pod that is about to be gone gets no cgroup again, unless it is started anew', async () => {
  await using dir = await createTempDir();
  const { cgroups, said, looked } = createCgroups(dir.path);
  const pod = testPod();
  const { uid } = podIdentity(pod);
  const at = `all/besteffort/pod${uid}`;
  await cgroups.ensure(pod);
  await cgroups.remove(uid);
  const stop = new AbortController();
  const running = cgroups.run({ active: () => [pod], knows: () => true }, stop.signal);
  await looked;
  stop.abort();
  await running;
  expect(said).toEqual([`made ${at}`, `removed /${at}`]);
  await cgroups.ensure(pod);
  expect(said.at(-1)).toBe(`made ${at}`);
});
