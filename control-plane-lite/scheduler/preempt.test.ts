/** Choice of the preempted pods and of the node. */
import { describe, expect, test } from 'vitest';
import { findNode } from './find-node.ts';
import type { Fleet } from './fleet/fleet.ts';
import { type Budget, decidePreemption } from './preempt.ts';
import { fleetOf, nodeObject, type PodOptions, pod } from './scheduler.fixture.ts';

const at = (startTime: string, options: PodOptions): PodOptions => ({ ...options, status: { startTime } });

/** A fleet of nodes with two CPUs each. */
function begin(...nodes: readonly (readonly PodOptions[])[]): Fleet {
  const fleet = fleetOf(nodes.map((_, index) => nodeObject(`n${index + 1}`, { allocatable: { cpu: '2' } })));
  for (const [index, pods] of nodes.entries()) {
    for (const [number, options] of pods.entries()) {
      const name = `p${index + 1}${'abcdef'[number] ?? ''}`;
      fleet.addPod(pod(name, options), `n${index + 1}`);
    }
  }
  return fleet;
}

function decide(fleet: Fleet, options: PodOptions, budgets: readonly Budget[] = []): string {
  const incoming = pod('new', { cpu: '1', priority: 10, ...options });
  const decision = findNode(incoming, fleet, { random: () => 0, start: 0 });
  if (decision.kind === 'node') return `fits on ${decision.node.name}`;
  const preemption = decidePreemption(incoming, fleet, decision.failure, {
    budgets: () => budgets,
    start: 0,
  });
  if (preemption.kind === 'none') return preemption.message;
  const { node, pods } = preemption.victims;
  return `${node.name}: ${pods.map(({ name }) => name).join(' ')}`;
}

const cpu = (amount: string, priority = 0): PodOptions => ({ cpu: amount, priority });
const budget = (allowed: number, ...names: readonly string[]): Budget => ({
  covers: ({ name }) => names.includes(name),
  allowed,
  isDisrupted: () => false,
});

describe('decidePreemption', () => {
  test.each<[string, readonly (readonly PodOptions[])[], PodOptions, readonly Budget[], string]>([
    ['takes as few as will do', [[cpu('1'), cpu('1')]], {}, [], 'n1: p1b'],
    ['spares the more important', [[cpu('1', 1), cpu('1', 5)]], {}, [], 'n1: p1a'],
    ['takes the node where the victims matter least', [[cpu('2', 5)], [cpu('2', 1)]], {}, [], 'n2: p2a'],
    [
      'takes the node with fewer victims',
      [[cpu('500m'), cpu('500m'), cpu('1', 10)], [cpu('2')]],
      {},
      [],
      'n2: p2a',
    ],
    ['goes against no budget if it can', [[cpu('2')], [cpu('2', 1)]], {}, [budget(0, 'p1a')], 'n2: p2a'],
    ['goes against one if it must', [[cpu('2')]], {}, [budget(0, 'p1a')], 'n1: p1a'],
    ['spares the pod whose budget is spent', [[cpu('1'), cpu('1')]], {}, [budget(0, 'p1b')], 'n1: p1a'],
    [
      'uses the disruptions that a budget allows',
      [[cpu('1'), cpu('1')]],
      { cpu: '2' },
      [budget(1, 'p1a', 'p1b')],
      'n1: p1a p1b',
    ],
    [
      'spares the pods that ran longest',
      [[at('2026-01-01T00:00:00Z', cpu('2'))], [at('2026-02-01T00:00:00Z', cpu('2'))]],
      {},
      [],
      'n2: p2a',
    ],
    [
      'evicts no pod of the same priority',
      [[cpu('2', 10)]],
      {},
      [],
      'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    ],
    [
      'does not try where it can not help',
      [[cpu('2')]],
      { nodeSelector: { a: 'b' } },
      [],
      'preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    ],
    [
      'is not for pods that never preempt',
      [[cpu('2')]],
      { preemptionPolicy: 'Never' },
      [],
      'preemption: not eligible due to preemptionPolicy=Never.',
    ],
  ])('%s', (_, nodes, options, budgets, expected) => {
    expect(decide(begin(...nodes), options, budgets)).toBe(expected);
  });

  test('waits for those that are going already', () => {
    const leaving = { metadata: { namespace: 'default', deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const fleet = begin([{ ...cpu('2'), ...leaving }]);
    const waiting = { status: { nominatedNodeName: 'n1' } };
    expect(decide(fleet, waiting)).toBe(
      'preemption: not eligible due to a terminating pod on the nominated node.',
    );
  });

  test('room that is made for one is not taken by another of less priority', () => {
    const fleet = begin([cpu('1')]);
    fleet.nominate(pod('first', { cpu: '1', priority: 20 }), 'n1');
    expect(decide(fleet, {})).toBe('n1: p1a');
    expect(decide(fleet, { priority: 30 })).toBe('fits on n1');
  });
});
