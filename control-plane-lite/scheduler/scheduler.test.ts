/** Properties of the scheduler's decisions, held against an oracle that knows only the objects. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Node, Pod } from '#api/gen/core-v1.ts';
import { findNode } from './find-node.ts';
import { type Fleet, type FleetView } from './fleet/fleet.ts';
import { readNode } from './fleet/node-facts.ts';
import { createPodReader } from './fleet/pod-info.ts';
import { mayRun, NODE_KEY, type Placed } from './oracle.fixture.ts';
import { decidePreemption } from './preempt.ts';
import { fleetOf, nodeObject, type PodOptions, podObject, seeded, WORDS, ZONE } from './scheduler.fixture.ts';

const APPS = ['a', 'b', 'c'];
const app = fc.constantFrom(...APPS);
const topologyKey = fc.constantFrom(ZONE, NODE_KEY);

const podTerms = fc.array(
  fc.record({ labelSelector: app.map((value) => ({ matchLabels: { app: value } })), topologyKey }),
  { minLength: 1, maxLength: 2 },
);

/** Most pods have small requests, as in real clusters. */
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined, freq: 3 });

const podOptions: fc.Arbitrary<PodOptions> = fc
  .record({
    app,
    cpu: fc.constantFrom('0', '500m', '1', '2'),
    memory: fc.constantFrom('0', '1Gi', '3Gi'),
    port: rarely(fc.constantFrom(80, 81)),
    tolerates: fc.boolean(),
    zone: rarely(fc.constantFrom('z1', 'z2')),
    near: rarely(podTerms),
    apart: rarely(podTerms),
    spread: rarely(fc.record({ maxSkew: fc.integer({ min: 1, max: 2 }), topologyKey })),
    priority: fc.constantFrom(0, 0, 10),
  })
  .map(({ app: name, cpu, memory, port, tolerates, zone, near, apart, spread, priority }): PodOptions => {
    const ports = port === undefined ? [] : [{ containerPort: port, hostPort: port }];
    const affinity = {
      ...(near === undefined
        ? {}
        : { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: near } }),
      ...(apart === undefined
        ? {}
        : { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: apart } }),
    };
    return {
      metadata: { namespace: 'default', labels: { app: name } },
      containers: [{ name: 'main', image: 'app', ports, resources: { requests: { cpu, memory } } }],
      priority,
      affinity,
      ...(tolerates ? { tolerations: [{ key: 'taint', operator: 'Exists' }] } : {}),
      ...(zone === undefined ? {} : { nodeSelector: { [ZONE]: zone } }),
      ...(spread === undefined
        ? {}
        : {
            topologySpreadConstraints: [
              {
                ...spread,
                whenUnsatisfiable: 'DoNotSchedule',
                labelSelector: { matchLabels: { app: name } },
              },
            ],
          }),
    };
  });

const nodes: fc.Arbitrary<readonly Node[]> = fc
  .array(
    fc.record({
      zone: fc.constantFrom('z1', 'z2', undefined),
      cpu: fc.constantFrom('1', '2', '4'),
      pods: fc.constantFrom('2', '10'),
      tainted: fc.constantFrom(false, false, true),
      shut: fc.constantFrom(false, false, false, true),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((all) =>
    all.map(({ zone, cpu, pods, tainted, shut }, index) =>
      nodeObject(`n${index}`, {
        labels: zone === undefined ? {} : { [ZONE]: zone },
        allocatable: { cpu, pods },
        spec: {
          unschedulable: shut,
          taints: tainted ? [{ key: 'taint', effect: 'NoSchedule' }] : [],
        },
      }),
    ),
  );

const pods: fc.Arbitrary<readonly Pod[]> = fc
  .array(podOptions, { minLength: 1, maxLength: 14 })
  .map((all) => all.map((options, index) => named(options, index)));

function named(options: PodOptions, index: number): Pod {
  const object = podObject(`p${index}`, options);
  return { ...object, metadata: { ...object.metadata, name: `p${index}`, uid: `u${index}` } };
}

/** Everything that decisions can see of a fleet. */
function shown(fleet: FleetView): unknown {
  return fleet.nodes.map((node) => ({
    ...node,
    pods: [...node.pods.keys()].toSorted(),
    ports: [...node.ports].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    groups: [...fleet.groups]
      .map(({ shape, living, terminating }) => [
        shape.labels,
        shape.priority,
        living.get(node),
        terminating.get(node),
      ])
      .filter(([, , living, terminating]) => living !== undefined || terminating !== undefined)
      .map((group) => JSON.stringify(group))
      .toSorted(),
  }));
}

/** Schedules one after the other; those that fit nowhere are left out. */
function scheduleAll(fleet: Fleet, all: readonly Pod[], seed: number): readonly Placed[] {
  const read = createPodReader();
  const random = seeded(seed);
  const placed: Placed[] = [];
  let start = 0;
  for (const pod of all) {
    const decision = findNode(read(pod), fleet, { random, start });
    start = (start + decision.looked) % fleet.nodes.length;
    if (decision.kind === 'none') continue;
    fleet.addPod(read(pod), decision.node.name);
    placed.push({ pod, node: decision.node.name });
  }
  return placed;
}

describe('findNode', () => {
  test('breaks no hard rule, and refuses no node without one', () => {
    fc.assert(
      fc.property(nodes, pods, fc.nat(), (some, all, seed) => {
        const fleet = fleetOf(some);
        const read = createPodReader();
        const random = seeded(seed);
        const placed: Placed[] = [];
        for (const pod of all) {
          const decision = findNode(read(pod), fleet, { random, start: 0 });
          const possible = some.filter((node) => mayRun(pod, node, { nodes: some, placed }));
          const names = possible.map(({ metadata }) => metadata?.name);
          const chosen = decision.kind === 'node' ? decision.node.name : undefined;
          expect(chosen === undefined ? names.length === 0 : names.includes(chosen)).toBe(true);
          if (chosen === undefined) continue;
          fleet.addPod(read(pod), chosen);
          placed.push({ pod, node: chosen });
        }
      }),
      { numRuns: 300 },
    );
  });

  test('decides the same with the same seed', () => {
    fc.assert(
      fc.property(nodes, pods, fc.nat(), (some, all, seed) => {
        const names = (): readonly string[] =>
          scheduleAll(fleetOf(some), all, seed).map(({ pod, node }) => `${pod.metadata?.name ?? ''} ${node}`);
        expect(names()).toEqual(names());
      }),
      { numRuns: 50 },
    );
  });
});

describe('the fleet', () => {
  const change = fc.oneof(
    fc.record({ kind: fc.constant('remove' as const), index: fc.nat(13) }),
    fc.record({ kind: fc.constant('terminate' as const), index: fc.nat(13) }),
    fc.record({ kind: fc.constant('move' as const), index: fc.nat(13), node: fc.nat(5) }),
    fc.record({ kind: fc.constant('dropNode' as const), node: fc.nat(5) }),
    fc.record({ kind: fc.constant('setNode' as const), node: fc.nat(5) }),
  );

  test('is, and decides, the same after any changes as one made of the result', () => {
    fc.assert(
      fc.property(nodes, pods, fc.array(change, { maxLength: 20 }), fc.nat(), (some, all, changes, seed) => {
        const fleet = fleetOf(some);
        const read = createPodReader();
        const known = new Map(some.map((node) => [node.metadata?.name ?? '', node]));
        const placed = new Map(
          scheduleAll(fleet, all, seed).map((each) => [each.pod.metadata?.name ?? '', each]),
        );
        for (const each of changes) {
          const node = 'node' in each ? `n${each.node}` : '';
          const found = 'index' in each ? placed.get(`p${each.index}`) : undefined;
          const name = found?.pod.metadata?.name ?? '';
          if (each.kind === 'dropNode') {
            for (const { name: gone } of fleet.removeNode(node)) placed.delete(gone);
            known.delete(node);
          } else if (each.kind === 'setNode') {
            const object = nodeObject(node, { labels: { [ZONE]: 'z1' }, allocatable: { cpu: '8' } });
            fleet.setNode(readNode(object, WORDS));
            known.set(node, object);
          } else if (found !== undefined && each.kind === 'remove') {
            fleet.removePod(`default/${name}`);
            placed.delete(name);
          } else if (found !== undefined && (each.kind === 'terminate' || known.has(node))) {
            const metadata = { ...found.pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
            const moved: Placed =
              each.kind === 'move' ? { ...found, node } : { ...found, pod: { ...found.pod, metadata } };
            fleet.addPod(read(moved.pod), moved.node);
            placed.set(name, moved);
          }
        }
        const anew = fleetOf([...known.values()]);
        for (const { pod, node } of placed.values()) anew.addPod(read(pod), node);
        expect(shown(fleet)).toEqual(shown(anew));
        if (known.size === 0) return;
        const more = all.map((pod, index) => named({ ...podOptionsOf(pod) }, index + 100));
        const names = (on: Fleet): readonly string[] => scheduleAll(on, more, seed).map(({ node }) => node);
        expect(names(fleet)).toEqual(names(anew));
      }),
      { numRuns: 200 },
    );
  });
});

const podOptionsOf = ({ metadata, spec }: Pod): PodOptions => ({ ...spec, ...(metadata && { metadata }) });

describe('decidePreemption', () => {
  test('takes only pods of lower priority, no more than needed, and leaves the fleet as it was', () => {
    fc.assert(
      fc.property(nodes, pods, podOptions, fc.nat(), (some, all, options, seed) => {
        const fleet = fleetOf(some);
        const placed = scheduleAll(fleet, all, seed);
        const object = named({ ...options, priority: 5 }, 99);
        const pod = createPodReader()(object);
        const decision = findNode(pod, fleet, { random: seeded(seed), start: 0 });
        if (decision.kind === 'node') return;
        const before = shown(fleet);
        const preemption = decidePreemption(pod, fleet, decision.failure, { budgets: () => [], start: 0 });
        expect(shown(fleet)).toEqual(before);
        const nodeOf = (name: string): Node => some.find(({ metadata }) => metadata?.name === name) ?? {};
        const without = (gone: readonly string[]): readonly Placed[] =>
          placed.filter(({ pod: other }) => !gone.includes(other.metadata?.name ?? ''));
        const mayGo = (node: string, gone: readonly string[]): boolean =>
          mayRun(object, nodeOf(node), { nodes: some, placed: without(gone) });
        const lower = (node: string): readonly string[] =>
          placed
            .filter((each) => each.node === node && (each.pod.spec?.priority ?? 0) < 5)
            .map((each) => each.pod.metadata?.name ?? '');
        const names = preemption.kind === 'none' ? [] : preemption.victims.pods.map(({ name }) => name);
        const isRight = (): boolean => {
          if (preemption.kind === 'none') {
            // Not even without all of them is there a place.
            return !fleet.nodes.some(({ name }) => lower(name).length > 0 && mayGo(name, lower(name)));
          }
          const { name } = preemption.victims.node;
          return (
            mayGo(name, names) &&
            names.every((each) => lower(name).includes(each)) &&
            !names.some((each) =>
              mayGo(
                name,
                names.filter((other) => other !== each),
              ),
            )
          );
        };
        expect(isRight()).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
