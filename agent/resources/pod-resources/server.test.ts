import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { createPodResourcesClient } from '#cri/client/pod-resources.ts';
import { createTempDir } from '../../../testing/temp.ts';
import { eventually } from '../../../testing/wait.ts';
import type { PodResourceSources } from './responses.ts';
import { runPodResources } from './server.ts';

const POD: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { initContainers: [{ name: 'i' }], containers: [{ name: 'c' }] },
};
const HELD = { cpus: [1, 3], memory: [{ type: 'memory', sizeBytes: 2 ** 40, nodes: [0, 1] }] };
const DEVICES = [
  {
    resource: 'example.com/gpu',
    devices: [
      { id: 'a', nodes: [1] },
      { id: 'b', nodes: [] },
    ],
  },
];
const SOURCES: PodResourceSources = {
  pods: () => [POD],
  held: () => HELD,
  most: () => ({ cpus: [0, 1], memory: [] }),
  heldDevices: (podUID, container) => (podUID === 'u' && container === 'c' ? DEVICES : []),
  allocatableDevices: () => DEVICES,
};

/** Serves while the callback runs. */
async function serving(
  allocatable: boolean,
  work: (path: string, advance: (ms: number) => Promise<void>, metrics: () => string) => Promise<void>,
): Promise<void> {
  const registry = createMetricsRegistry();
  await using dir = await createTempDir('na-pr-');
  const path = join(dir.path, 'a.sock');
  const clock = createFakeClock();
  const stop = new AbortController();
  const running = runPodResources(
    { clock, log: silentLogger, sources: SOURCES, registry },
    { path, allocatable },
    stop.signal,
  );
  await eventually(async () => (await createPodResourcesClient(path).list({})).podResources.length > 0);
  await work(
    path,
    (ms) => clock.advance(ms),
    () => registry.text(),
  );
  stop.abort();
  await running;
}

describe('runPodResources', () => {
  test('returns allocations and allocatable resources', () =>
    serving(true, async (path) => {
      const client = createPodResourcesClient(path);
      const [pod] = (await client.list({})).podResources;
      expect(pod).toMatchObject({ name: 'p', namespace: 'n' });
      expect(pod?.containers).toHaveLength(1);
      expect(pod?.containers[0]).toMatchObject({
        name: 'c',
        cpuIds: [1n, 3n],
        memory: [{ memoryType: 'memory', size: 2n ** 40n, topology: { nodes: [{ ID: 0n }, { ID: 1n }] } }],
        devices: [
          { resourceName: 'example.com/gpu', deviceIds: ['a'], topology: { nodes: [{ ID: 1n }] } },
          { deviceIds: ['b'], topology: undefined },
        ],
      });
      const there = await client.getAllocatableResources({});
      expect(there).toMatchObject({
        cpuIds: [0n, 1n],
        devices: [{ deviceIds: ['a'] }, { deviceIds: ['b'] }],
      });
    }));

  test('returns devices only in v1alpha1', () =>
    serving(true, async (path, _, metrics) => {
      const [pod] = (await createPodResourcesClient(path, 'v1alpha1').list({})).podResources;
      expect(pod?.containers[0]).toMatchObject({
        cpuIds: [],
        memory: [],
        devices: [{ deviceIds: ['a'] }, {}],
      });
      for (const what of ['requests_total', 'requests_list']) {
        expect(metrics()).toContain(`pod_resources_endpoint_${what}{server_api_version="v1alpha1"} 1\n`);
      }
    }));

  test('GetAllocatableResources requires the gate', () =>
    serving(false, async (path, _, metrics) => {
      const called = createPodResourcesClient(path).getAllocatableResources({});
      await expect(called).rejects.toMatchObject({ reason: 'Unimplemented' });
      const name = 'pod_resources_endpoint';
      expect(metrics()).toContain(`${name}_requests_get_allocatable{server_api_version="v1"} 1\n`);
      expect(metrics()).toContain(`${name}_errors_get_allocatable{server_api_version="v1"} 1\n`);
      expect(metrics()).not.toContain(`${name}_errors_list{`);
    }));

  test('rejects calls beyond the rate limit', () =>
    serving(true, async (path, advance) => {
      const client = createPodResourcesClient(path);
      const calls = Array.from({ length: 30 }, () => client.list({}));
      const refused = (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected');
      expect(refused.length).toBeGreaterThan(10);
      await advance(1000);
      expect((await client.list({})).podResources).toHaveLength(1);
    }));
});
