import { expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import { testPod } from '../pods/pod.fixture.ts';
import { createCgroupfsMaker } from './cgroupfs-driver.ts';
import { createPodCgroups } from './pod-cgroups.ts';
import { createCgroupRecords } from './records.ts';
import { createCgroupTree } from './tree.ts';

/** Cgroups that only record the state of their directories. */
function createCgroups(recordsDir: string) {
  const said: string[] = [];
  const listed = Promise.withResolvers<void>();
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
      // Listed at the end of each repair round.
      records: { ...records, all: () => records.all().finally(listed.resolve) },
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
  return { cgroups, said, listed: listed.promise };
}

test('a pod that is being removed gets no new cgroup, unless it is started again', async () => {
  await using dir = await createTempDir();
  const { cgroups, said, listed } = createCgroups(dir.path);
  const pod = testPod();
  const identity = podIdentity(pod);
  const { uid } = identity;
  const at = `all/besteffort/pod${uid}`;
  await cgroups.ensure({ ...identity, pod });
  await cgroups.remove(uid);
  const stop = new AbortController();
  const running = cgroups.run({ active: () => [pod], knows: () => true }, stop.signal);
  await listed;
  stop.abort();
  await running;
  expect(said).toEqual([`made ${at}`, `removed /${at}`]);
  await cgroups.ensure({ ...identity, pod });
  expect(said.at(-1)).toBe(`made ${at}`);
});
