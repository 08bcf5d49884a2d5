import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { parseCpuSet } from '../../machine/cpu-set.ts';
import { createTopology } from '../../machine/cpu-topology.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { requestsOf } from '../requests.ts';
import type { StateFile } from '../state/state-file.ts';
import { cpusetMount, cpusetPath, createAffinity } from './affinity.ts';
import { createCpuManager } from './cpu-manager.ts';

const policy = {
  topology: createTopology([0, 1, 2, 3].map((cpu) => ({ cpu, core: cpu, socket: 0, numa: 0 }))),
  reserved: parseCpuSet('0'),
  options: { fullPcpusOnly: false, distributeAcrossNuma: false },
};
const ANYWHERE = { nodes: undefined, preferred: false };

const guaranteed = (uid: string, cpu: string): Pod => ({
  metadata: { uid },
  spec: { containers: [{ name: 'c', resources: { limits: { cpu, memory: '1Gi' } } }] },
});
const shared = (uid: string): Pod => ({ metadata: { uid }, spec: { containers: [{ name: 'c' }] } });

const running = (id: string, podUID: string): ObservedContainer => ({
  id,
  podUID,
  sandboxId: 's',
  name: 'c',
  kind: 'app',
  attempt: 0,
  state: 'running',
  createdAtMs: 0,
  startedAtMs: 0,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageID: '',
  hash: '',
  fallsBackToLogs: false,
});

/** A manager with its calls to the runtime and the cpusets of the kernel by container. */
async function setUp(text?: string) {
  const updates: string[] = [];
  const kernel = new Map<string, string>();
  const containers: ObservedContainer[] = [];
  const disk = { text };
  const file: StateFile = {
    path: '/r/cpu_manager_state',
    read: () => Promise.resolve(disk.text),
    save: (next) => {
      disk.text = next;
    },
    saved: () => Promise.resolve(),
  };
  const clock = createFakeClock();
  const registry = createMetricsRegistry();
  const manager = await createCpuManager(
    {
      file,
      registry,
      clock,
      log: silentLogger,
      containers: () => containers,
      affinity: { of: (id) => Promise.resolve(kernel.get(id)), retainOnly: () => undefined },
      runtime: {
        updateContainerResources: ({ containerId = '', linux }) => {
          const cpus = linux?.cpusetCpus ?? '';
          kernel.set(containerId, cpus);
          updates.push(`${containerId} ${cpus}`);
          return Promise.resolve({});
        },
      },
    },
    { policy, reconcilePeriodMs: 10_000 },
  );
  const admit = (pod: Pod): void => {
    for (const request of requestsOf(pod)) manager.allocate(request, ANYWHERE);
  };
  /** The container runs with its grant. */
  const start = async (pod: Pod, id: string): Promise<string> => {
    const podUID = pod.metadata?.uid ?? '';
    const [request] = requestsOf(pod);
    if (request === undefined) throw new Error('no container');
    const { cpusetCpus = '' } = (await manager.grant?.(request)) ?? {};
    containers.push(running(id, podUID));
    kernel.set(id, cpusetCpus);
    manager.started?.(podUID, 'c', id);
    return cpusetCpus;
  };
  return { manager, admit, start, updates, kernel, containers, clock, disk, registry };
}

/** Runs the manager during the test. */
async function whileRunning(world: Awaited<ReturnType<typeof setUp>>, body: () => Promise<void>) {
  const stop = new AbortController();
  const work = world.manager.run?.(stop.signal);
  await body();
  stop.abort();
  await work;
}

describe('the CPU manager', () => {
  test('assigns CPUs, moves other containers off them immediately, and back after their release', async () => {
    const world = await setUp();
    const { manager, admit, start, updates, clock } = world;
    await whileRunning(world, async () => {
      expect(await start(shared('s'), 'cs')).toBe('0-3');
      admit(guaranteed('g', '2'));
      await clock.advance(0);
      expect(updates).toEqual(['cs 0,3']);
      expect(await start(guaranteed('g', '2'), 'cg')).toBe('1-2');
      expect(manager.held('g', 'c')).toEqual([1, 2]);
      manager.release('g');
      await clock.advance(0);
      expect(updates).toEqual(['cs 0,3', 'cs 0-3', 'cg 0-3']);
    });
  });

  test('repairs external changes, once per period', async () => {
    const world = await setUp();
    const { start, updates, kernel, clock } = world;
    await whileRunning(world, async () => {
      await start(shared('s'), 'cs');
      await clock.advance(10_000);
      kernel.set('cs', '2');
      await clock.advance(10_000);
      expect(updates).toEqual(['cs 0-3']);
      await clock.advance(60_000);
      expect(updates).toEqual(['cs 0-3']);
    });
  });

  test('moves a container that was created during the assignment', async () => {
    const world = await setUp();
    const { manager, admit, updates, kernel, containers, clock } = world;
    await whileRunning(world, async () => {
      const [request] = requestsOf(shared('s'));
      if (request === undefined) throw new Error('no container');
      await manager.grant?.(request);
      admit(guaranteed('g', '1'));
      containers.push(running('cs', 's'));
      kernel.set('cs', '0-3');
      manager.started?.('s', 'c', 'cs');
      await clock.advance(0);
      expect(updates).toEqual(['cs 0,2-3']);
    });
  });

  test('retains everything over a restart, without runtime calls', async () => {
    const before = await setUp();
    before.admit(guaranteed('g', '2'));
    const after = await setUp(before.disk.text);
    after.containers.push(running('cg', 'g'), running('cs', 's'), running('gone', 'x'));
    after.kernel.set('cg', '1-2').set('cs', '0,3');
    await whileRunning(after, async () => {
      await after.clock.advance(0);
      expect(after.manager.held('g', 'c')).toEqual([1, 2]);
      // An unknown kernel cpuset is reported once.
      expect(after.updates).toEqual(['gone 0,3']);
    });
  });

  test('reports metrics and allocatable CPUs', async () => {
    const { manager, admit, registry } = await setUp();
    admit(guaranteed('a', '3'));
    expect(() => admit(guaranteed('b', '1'))).toThrow(/requests 1 .* and 0 are free/);
    admit(shared('s'));
    expect(manager.most()).toEqual([1, 2, 3]);
    expect([...manager.holders()]).toEqual(['a']);
    expect(registry.text()).toMatch(/^cpu_manager_pinning_requests_total 2$/m);
    expect(registry.text()).toMatch(/^cpu_manager_pinning_errors_total 1$/m);
  });

  test.each([
    [
      'of another policy',
      '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
      /policy none, not/,
    ],
    ['that is broken', '{', /is not JSON/],
    [
      'of another machine',
      '{"policyName":"static","defaultCpuSet":"0-7","checksum":0}',
      /CPUs 0-7, but the machine has 0-3/,
    ],
  ])('does not start with a state %s, and names the remedy', async (_, text, message) => {
    await expect(setUp(text)).rejects.toThrow(message);
    await expect(setUp(text)).rejects.toThrow('drain this node, remove /r/cpu_manager_state and start');
  });
});

describe('affinity', () => {
  const V1 =
    '33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n41 31 0:38 / /u rw - cgroup2 c rw\n';
  const V2 = '30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n';

  test('locates the controller', () => {
    expect(cpusetMount(V1)).toEqual({ root: '/', mountPoint: '/sys/fs/cgroup/cpuset', version: 1 });
    expect(cpusetMount(V2)).toEqual({ root: '/', mountPoint: '/sys/fs/cgroup', version: 2 });
    expect(cpusetMount('')).toBeUndefined();
    expect(cpusetPath('3:cpuset:/a:b/c1\n0::/x\n', 1)).toBe('/a:b/c1');
    expect(cpusetPath('0::/a.slice/c1.scope\n', 2)).toBe('/a.slice/c1.scope');
  });

  test('reads the file of the container and locates it once', async () => {
    const asked: string[] = [];
    const files: Readonly<Record<string, string>> = {
      '/proc/self/mountinfo': V1,
      '/proc/7/cgroup': '3:cpuset:/pods/c1\n',
      '/proc/8/cgroup': '3:cpuset:/user\n',
      '/sys/fs/cgroup/cpuset/pods/c1/cpuset.cpus': '0-1\n',
    };
    const affinity = createAffinity({
      processOf: (id) => {
        asked.push(id);
        return Promise.resolve(id === 'c1' ? 7 : 8);
      },
      read: (path) => {
        const text = files[path];
        return text === undefined ? Promise.reject(new Error(path)) : Promise.resolve(text);
      },
    });
    expect(await affinity.of('c1')).toBe('0-1');
    expect(await affinity.of('c1')).toBe('0-1');
    // Its PID belongs to another process by now.
    expect(await affinity.of('c2')).toBeUndefined();
    expect(asked).toEqual(['c1', 'c2']);
  });
});
