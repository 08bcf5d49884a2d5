/** Numbers of replicas: upstream's rules as a table, and properties. */
import { describe, expect, test } from 'vitest';
import { metric, NOW, pod } from './autoscaler.fixture.ts';
import type { ScaledPod } from './facts.ts';
import {
  type PodsInput,
  proposeByAverage,
  proposeByShare,
  proposeByTotal,
  proposeByUtilization,
} from './propose.ts';

const LIMITS = { tolerance: 0.1, cpuInitializationMs: 300_000, initialReadinessMs: 30_000 };

type State = 'ready' | 'unready' | 'pending' | 'missing' | 'failed' | 'deleting';

const podIn = (name: string, state: State, request: number): ScaledPod => {
  const changes: Readonly<Record<State, Partial<ScaledPod>>> = {
    ready: {},
    missing: {},
    unready: { startMs: NOW - 1000, ready: { status: 'False', sinceMs: NOW - 1000 } },
    pending: { phase: 'Pending' },
    failed: { phase: 'Failed' },
    deleting: { deleting: true },
  };
  return pod(name, request, changes[state]);
};

interface Row {
  readonly title: string;
  readonly states?: readonly State[];
  /** Of each pod, in thousandths; `undefined`: none. */
  readonly levels: readonly (number | undefined)[];
  readonly requests?: readonly number[];
  readonly current?: number;
  readonly target: number;
  readonly expected: number;
  readonly utilization?: number;
}

const inputOf = ({ states, levels, requests, current }: Row): PodsInput & { readonly resource: string } => {
  const count = states?.length ?? levels.length;
  const pods = Array.from({ length: count }, (_, index) =>
    podIn(`p${index}`, states?.[index] ?? 'ready', requests?.[index] ?? 1000),
  );
  const metrics = new Map(
    levels.flatMap((level, index) =>
      level === undefined ? [] : [[`p${index}`, metric(BigInt(level))] as const],
    ),
  );
  return { pods, metrics, current: current ?? count, limits: LIMITS, nowMs: NOW, resource: 'cpu' };
};

const none = undefined;
const BY_UTILIZATION: readonly Row[] = [
  { title: 'scales up', levels: [300, 500, 700], target: 30, expected: 5, utilization: 50 },
  {
    title: 'scales up less with unready pods',
    states: ['ready', 'ready', 'unready'],
    levels: [500, 700, 300],
    target: 30,
    expected: 4,
    utilization: 60,
  },
  {
    title: 'scales up less with pending pods',
    states: ['ready', 'pending', 'ready'],
    levels: [500, none, 700],
    target: 30,
    expected: 4,
    utilization: 60,
  },
  {
    title: 'ignores failed pods',
    states: ['ready', 'ready', 'failed'],
    levels: [500, 700, none],
    current: 2,
    target: 30,
    expected: 4,
    utilization: 60,
  },
  {
    title: 'ignores the metrics of terminating pods',
    states: ['ready', 'ready', 'deleting'],
    levels: [500, 700, 10_000],
    current: 2,
    target: 30,
    expected: 4,
    utilization: 60,
  },
  {
    title: 'does not scale up where the unready pods make up for it',
    states: ['ready', 'unready', 'unready'],
    levels: [400, 500, 700],
    target: 30,
    expected: 3,
    utilization: 40,
  },
  { title: 'scales down', levels: [100, 300, 500, 250, 250], target: 50, expected: 3, utilization: 28 },
  {
    title: 'scales down without the unready pods',
    states: ['ready', 'ready', 'ready', 'unready', 'unready'],
    levels: [100, 300, 500, 250, 250],
    target: 50,
    expected: 2,
    utilization: 30,
  },
  {
    title: 'keeps within the tolerance above',
    levels: [1010, 1030, 1020],
    target: 100,
    expected: 3,
    utilization: 102,
  },
  {
    title: 'keeps within the tolerance below',
    levels: [910, 900, 920],
    target: 100,
    expected: 3,
    utilization: 91,
  },
  {
    title: 'weighs pods by their requests',
    levels: [1000, 500],
    requests: [2000, 1000],
    target: 50,
    expected: 2,
    utilization: 50,
  },
  {
    title: 'assumes the full request of missing pods when it scales down',
    levels: [100, none],
    target: 50,
    expected: 2,
    utilization: 10,
  },
  {
    title: 'scales down all the same where missing pods do not make up for it',
    states: ['ready', 'ready', 'ready', 'missing'],
    levels: [100, 100, 100, none],
    target: 80,
    expected: 2,
    utilization: 10,
  },
  {
    title: 'assumes the target of missing pods where it is above the request',
    states: ['ready', 'missing'],
    levels: [1000, none],
    target: 200,
    expected: 2,
    utilization: 100,
  },
  {
    title: 'assumes no usage of missing pods when it scales up',
    levels: [1000, none],
    target: 50,
    expected: 2,
    utilization: 100,
  },
  {
    title: 'scales up all the same where missing pods do not make up for it',
    levels: [2000, none],
    target: 50,
    expected: 4,
    utilization: 200,
  },
  {
    title: 'never turns around because of missing pods',
    levels: [600, none, none],
    target: 50,
    expected: 3,
    utilization: 60,
  },
  {
    title: 'counts missing and unready pods together',
    states: ['ready', 'missing', 'unready'],
    levels: [2000, none, 500],
    target: 50,
    expected: 4,
    utilization: 200,
  },
  {
    title: 'keeps where the counted pods would change the direction',
    states: ['ready', 'missing', 'missing', 'missing'],
    levels: [1000, none, none, none],
    current: 3,
    target: 500,
    expected: 3,
    utilization: 100,
  },
];

describe('proposeByUtilization', () => {
  test.each(BY_UTILIZATION.map((row) => [row.title, row] as const))('%s', (_, row) => {
    const { replicas, utilization } = proposeByUtilization(inputOf(row), row.target);
    expect([replicas, utilization]).toEqual([row.expected, row.utilization]);
  });

  test('the value is the average of the pods that count', () => {
    const row = { title: '', levels: [300, 500, 701], target: 30, expected: 0 };
    expect(proposeByUtilization(inputOf(row), 30).value).toBe(500n);
  });

  test('of one container counts its request only', () => {
    const containers = [
      { name: 'main', requests: { cpu: '100m' } },
      { name: 'other', requests: {} },
    ];
    const input = {
      ...inputOf({ title: '', levels: [100], target: 0, expected: 0 }),
      pods: [pod('p0', 0, { containers })],
    };
    expect(proposeByUtilization({ ...input, container: 'main' }, 50)).toMatchObject({
      replicas: 2,
      utilization: 100,
    });
    expect(() => proposeByUtilization(input, 50)).toThrow('missing request for cpu');
  });

  test.each<[string, Row, string]>([
    ['no pods', { title: '', levels: [], target: 50, expected: 0 }, 'no pods returned by selector'],
    [
      'no metrics',
      { title: '', levels: [none], target: 50, expected: 0 },
      'did not receive metrics for any ready',
    ],
    [
      'only unready pods',
      { title: '', states: ['unready'], levels: [100], target: 50, expected: 0 },
      'did not receive metrics for any ready',
    ],
    [
      'no requests',
      { title: '', levels: [1], requests: [0], target: 50, expected: 0 },
      'no metrics returned matched',
    ],
  ])('%s: fails', (_, row, message) => {
    expect(() => proposeByUtilization(inputOf(row), row.target)).toThrow(message);
  });

  test('properties: full usage at the target keeps the size, and more usage never proposes less', () => {
    for (let count = 1; count <= 20; count += 1) {
      for (const target of [1, 50, 80, 100, 250]) {
        const propose = (percent: number): number =>
          proposeByUtilization(
            inputOf({
              title: '',
              levels: Array.from({ length: count }, () => percent * 10),
              target,
              expected: 0,
            }),
            target,
          ).replicas;
        expect(propose(target)).toBe(count);
        const series = [0, 1, 10, 40, 60, 90, 100, 110, 111, 150, 300, 1000].map(propose);
        expect(series).toEqual(series.toSorted((left, right) => left - right));
      }
    }
  });
});

const BY_AVERAGE: readonly Row[] = [
  { title: 'scales up', levels: [20_000, 10_000, 30_000], target: 15_000, expected: 4 },
  { title: 'scales down', levels: [12_000, 12_000, 12_000, 12_000, 12_000], target: 20_000, expected: 3 },
  { title: 'keeps within the tolerance', levels: [20_000, 21_000, 21_000], target: 20_000, expected: 3 },
  {
    title: 'assumes the target of missing pods when it scales down',
    levels: [100, none],
    target: 1000,
    expected: 2,
  },
  {
    title: 'assumes nothing of missing pods when it scales up',
    levels: [8000, none],
    target: 1000,
    expected: 8,
  },
  {
    title: 'assumes nothing of pending pods when it scales up',
    states: ['ready', 'pending'],
    levels: [5000, none],
    target: 1000,
    expected: 5,
  },
];

describe('proposeByAverage', () => {
  test.each(BY_AVERAGE.map((row) => [row.title, row] as const))('%s', (_, row) => {
    const { resource: _resource, ...input } = inputOf(row);
    expect(proposeByAverage(input, BigInt(row.target)).replicas).toBe(row.expected);
  });

  test('unready pods count for metrics that are no CPU usage', () => {
    const { resource: _resource, ...input } = inputOf({
      title: '',
      states: ['ready', 'unready'],
      levels: [2000, 2000],
      target: 0,
      expected: 0,
    });
    expect(proposeByAverage(input, 1000n).replicas).toBe(4);
    expect(proposeByAverage({ ...input, resource: 'cpu' }, 1000n).replicas).toBe(2);
  });
});

describe('proposeByTotal', () => {
  test.each([
    ['scales up by the ratio of the ready pods', 3, ['ready', 'ready', 'unready'], 40_000n, 20_000n, 4],
    ['scales down', 4, ['ready', 'ready', 'ready', 'ready'], 10_000n, 20_000n, 2],
    ['keeps within the tolerance', 3, ['ready'], 21_000n, 20_000n, 3],
    ['leaves zero', 0, [], 1n, 20_000n, 1],
    ['leaves zero for as many as the ratio', 0, [], 100_000n, 20_000n, 5],
    ['stays at zero', 0, [], 0n, 20_000n, 0],
    ['reaches zero', 2, ['ready', 'ready'], 0n, 20_000n, 0],
  ] as const)('%s', (_, current, states, value, target, expected) => {
    const pods = states.map((state, index) => podIn(`p${index}`, state, 1));
    expect(proposeByTotal({ pods, value, current, tolerance: 0.1 }, target).replicas).toBe(expected);
  });

  test('without pods it fails', () => {
    expect(() => proposeByTotal({ pods: [], value: 9n, current: 1, tolerance: 0.1 }, 1n)).toThrow(
      'unable to calculate ready pods: no pods returned by selector while calculating replica count',
    );
  });
});

describe('proposeByShare', () => {
  test.each([
    [8600n, 2150n, 4, 4, 2150n],
    [8600n, 1100n, 4, 8, 2150n],
    [8600n, 9000n, 4, 1, 2150n],
    [0n, 1000n, 0, 0, 0n],
    [1500n, 1000n, 0, 2, 1500n],
    [10n, 10n, 3, 1, 4n],
  ] as const)('%d for %d by %d: %d, %d each', (value, target, current, replicas, share) => {
    expect(proposeByShare(value, target, current, 0.1)).toEqual({ replicas, value: share });
  });
});

test('a proposal fits into an int32', () => {
  expect(proposeByShare(2n ** 62n, 1n, 1, 0.1).replicas).toBe(2 ** 31 - 1);
});
