import { describe, expect, test } from 'vitest';
import type { Container, Pod } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import type { ContainerRequest, ResourceProvider } from './contract.ts';
import { ResourceRefusal } from './contract.ts';
import { createResourceManagers } from './resource-managers.ts';
import { maskOf, nodesIn, type TopologyHint, type TopologyPolicy } from './topology/hints.ts';
import { topologySettings } from './topology/topology-settings.ts';

/** A provider of a resource that exists on two NUMA nodes; containers request it by a limit of that name. */
function createPool(name: string, perNode: readonly number[]) {
  const reservations = new Map<string, { podUID: string; taken: readonly number[] }>();
  const wanted = ({ container }: ContainerRequest): number =>
    Number(container.resources?.limits?.[name] ?? 0);
  const free = (): readonly number[] =>
    perNode.map(
      (all, node) => all - [...reservations.values()].reduce((sum, { taken }) => sum + (taken[node] ?? 0), 0),
    );
  const hintsFor = (count: number): readonly TopologyHint[] | undefined => {
    if (count === 0) return undefined;
    const single = [0, 1].filter((node) => (free()[node] ?? 0) >= count);
    const all = free().reduce((sum, one) => sum + one, 0);
    return [
      ...single.map((node) => ({ nodes: maskOf([node]), preferred: true })),
      ...(all >= count ? [{ nodes: maskOf([0, 1]), preferred: !perNode.some((one) => one >= count) }] : []),
    ];
  };
  const provider: ResourceProvider = {
    name,
    hints: (request) => ({ [name]: hintsFor(wanted(request)) }),
    podHints: (pod) => ({
      [name]: hintsFor(
        (pod.spec?.containers ?? []).reduce(
          (sum, container) => sum + wanted({ pod, container, init: false }),
          0,
        ),
      ),
    }),
    allocate(request, { nodes }) {
      const podUID = request.pod.metadata?.uid ?? '';
      const key = `${podUID}/${request.container.name}`;
      if (reservations.has(key)) return;
      let left = wanted(request);
      const near = nodesIn(nodes ?? 3);
      const taken = [0, 0];
      // The rest from other nodes, as the CPU and device managers do.
      for (const node of [...near, ...[0, 1].filter((other) => !near.includes(other))]) {
        taken[node] = Math.min(free()[node] ?? 0, left);
        left -= taken[node];
      }
      if (left > 0) throw new ResourceRefusal('UnexpectedAdmissionError', `no ${name} left`);
      if (wanted(request) > 0) reservations.set(key, { podUID, taken });
    },
    holders: () => new Set([...reservations.values()].map(({ podUID }) => podUID)),
    release(podUID) {
      for (const [key, one] of reservations) if (one.podUID === podUID) reservations.delete(key);
    },
    grant: ({ pod, container }) =>
      Promise.resolve({ env: { WHO: `${pod.metadata?.uid} ${container.name} ${name}`, [name]: '1' } }),
  };
  const places = (): readonly string[] =>
    [...reservations].map(([key, { taken }]) => `${key} ${taken.join('+')}`);
  return { provider, places };
}

const pod = (uid: string, ...limits: readonly Readonly<Record<string, string>>[]): Pod => ({
  metadata: { uid },
  spec: {
    containers: limits.map((one, i): Container => ({ name: `c${i}`, resources: { limits: one } })),
  },
});

function setUp(
  policy: TopologyPolicy,
  scope: 'container' | 'pod' = 'container',
  cpus: readonly number[] = [4, 4],
  gpus: readonly number[] = [1, 1],
) {
  const cpu = createPool('cpu', cpus);
  const gpu = createPool('gpu', gpus);
  const config = { topologyManagerPolicy: policy, topologyManagerScope: scope, featureGates: {} };
  const settings = topologySettings(config, [0, 1]);
  const providers = [gpu.provider, cpu.provider];
  const registry = createMetricsRegistry();
  const managers = createResourceManagers({ providers, log: silentLogger, registry }, settings);
  return { managers, registry, places: () => [...cpu.places(), ...gpu.places()] };
}

const NOT_TOGETHER = {
  reason: 'TopologyAffinityError',
  message: 'Resources cannot be allocated with Topology locality',
};

describe('admission', () => {
  test('aligns the request of a container on one NUMA node', () => {
    const { managers, places } = setUp('single-numa-node', 'container', [4, 4], [0, 1]);
    expect(managers.admit(pod('a', { cpu: '2', gpu: '1' }))).toBeUndefined();
    expect(places()).toEqual(['a/c0 0+2', 'a/c0 0+1']);
  });

  test.each<[TopologyPolicy, object | undefined]>([
    ['none', undefined],
    ['best-effort', undefined],
    ['restricted', NOT_TOGETHER],
    ['single-numa-node', NOT_TOGETHER],
  ])('of CPUs here and a device there, by policy %s', (policy, verdict) => {
    const { managers } = setUp(policy, 'container', [4, 1], [0, 1]);
    expect(managers.admit(pod('a', { cpu: '2', gpu: '1' }))).toEqual(verdict);
  });

  test.each<[TopologyPolicy, object | undefined]>([
    ['restricted', undefined],
    ['single-numa-node', NOT_TOGETHER],
  ])('of more than one node has, by policy %s', (policy, verdict) => {
    const { managers } = setUp(policy);
    expect(managers.admit(pod('a', { cpu: '6' }))).toEqual(verdict);
  });

  test.each<['container' | 'pod', readonly string[]]>([
    ['container', ['a/c0 3+0', 'a/c1 0+3']],
    ['pod', []],
  ])('of two containers that do not fit on one node together, in scope %s', (scope, expected) => {
    const { managers, places } = setUp('single-numa-node', scope);
    managers.admit(pod('a', { cpu: '3' }, { cpu: '3' }));
    expect(places()).toEqual(expected);
  });

  test('of two containers that fit on one node together, in scope pod', () => {
    const { managers, places } = setUp('single-numa-node', 'pod', [3, 4]);
    expect(managers.admit(pod('a', { cpu: '2' }, { cpu: '2' }))).toBeUndefined();
    expect(places()).toEqual(['a/c0 0+2', 'a/c1 0+2']);
  });

  test('releases everything when one container is rejected', () => {
    const { managers, places } = setUp('none');
    expect(managers.admit(pod('a', { cpu: '2' }, { cpu: '9' }))).toEqual({
      reason: 'UnexpectedAdmissionError',
      message: 'Allocate failed due to no cpu left, which is unexpected',
    });
    expect(places()).toEqual([]);
  });

  test('is counted where resources are aligned', () => {
    const { managers, registry } = setUp('restricted', 'container', [4, 1], [0, 1]);
    managers.admit(pod('a', { cpu: '2', gpu: '1' }));
    managers.admit(pod('b', { cpu: '1' }));
    expect(registry.text()).toMatch(/^topology_manager_admission_requests_total 2$/m);
    expect(registry.text()).toMatch(/^topology_manager_admission_errors_total 1$/m);
  });
});

test('a pod of an earlier agent is never rejected', () => {
  const { managers, places } = setUp('none');
  managers.adopt(pod('a', { cpu: '2' }, { cpu: '9' }));
  expect(places()).toEqual(['a/c0 2+0']);
});

test('reservations of removed pods are released', () => {
  const { managers, places } = setUp('none');
  for (const uid of ['a', 'b']) managers.admit(pod(uid, { cpu: '2' }));
  managers.retainOnly(() => new Set(['b']));
  expect(places()).toEqual(['b/c0 2+0']);
  managers.release('b');
  managers.retainOnly(() => {
    throw new Error('must not be called without allocations');
  });
  expect(places()).toEqual([]);
});

test('grants of all providers are merged, the first of equal names wins', async () => {
  const { managers } = setUp('none');
  const { env } = await managers.grant(pod('a', {}), { name: 'c0' });
  expect(env).toEqual({ WHO: 'a c0 gpu', cpu: '1', gpu: '1' });
});

test('a machine with too many NUMA nodes is rejected', () => {
  const config = { topologyManagerScope: 'pod', featureGates: {} } as const;
  const nine = Array.from({ length: 9 }, (_, node) => node);
  expect(() => topologySettings({ ...config, topologyManagerPolicy: 'restricted' }, nine)).toThrow(
    /restricted supports up to 8 NUMA nodes/,
  );
  expect(topologySettings({ ...config, topologyManagerPolicy: 'none' }, nine).policy).toBe('none');
  const off = { topologyManagerPolicy: 'restricted', featureGates: { TopologyManager: false } } as const;
  expect(topologySettings({ ...config, ...off }, [0]).policy).toBe('none');
});
