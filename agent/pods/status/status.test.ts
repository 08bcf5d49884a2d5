import { expect, test } from 'vitest';
import type { PodStatus } from '#api/gen/core-v1.ts';
import { decidePod } from '../decide/decide.ts';
import {
  container,
  decideInput,
  ended,
  NOW_MS,
  observation,
  progress,
  sandbox,
  testPod,
} from '../pod.fixture.ts';
import { podStatus, type StatusInput } from './status.ts';

const base: StatusInput = {
  pod: testPod(),
  observed: observation([sandbox()], container('a')),
  progress: progress(),
  isRemoved: false,
  waiting: new Map(),
  previous: undefined,
  hostIPs: ['192.0.2.1'],
  qosClass: 'Burstable',
  runtimeName: 'containerd',
  nowMs: NOW_MS,
};
const status = (change: Partial<StatusInput> = {}): PodStatus => podStatus({ ...base, ...change });

const isTrue = (type: string, { conditions = [] }: PodStatus): boolean =>
  conditions.some((condition) => condition.type === type && condition.status === 'True');

const LATE = { phase: 'Failed', reason: 'DeadlineExceeded', message: 'late' } as const;
const withInit = testPod({ initContainers: [{ name: 'i', image: 'i' }] });
const crashing = new Map([['a', { reason: 'CrashLoopBackOff', message: 'back-off' }]]);

test.each<
  readonly [string, Partial<StatusInput>, readonly [phase: string, initialized: boolean, ready: boolean]]
>([
  ['running', {}, ['Running', true, true]],
  ['nothing there yet', { observed: observation([]) }, ['Pending', true, false]],
  ['sandbox only', { observed: observation([sandbox()]) }, ['Pending', true, false]],
  [
    'init running',
    { pod: withInit, observed: observation([sandbox()], container('i')) },
    ['Pending', false, false],
  ],
  [
    'init failed',
    { pod: withInit, observed: observation([sandbox()], ended('i', 1)) },
    ['Pending', false, false],
  ],
  [
    'init done',
    { pod: withInit, observed: observation([sandbox()], container('a'), ended('i')) },
    ['Running', true, true],
  ],
  [
    'crash loop',
    { observed: observation([sandbox()], ended('a', 1)), waiting: crashing },
    ['Running', true, false],
  ],
  [
    'not ready by its probe',
    { progress: progress({ probes: new Map([['a-0', { started: true, ready: false }]]) }) },
    ['Running', true, false],
  ],
  [
    'succeeded',
    {
      observed: observation([sandbox({ ready: false })], ended('a')),
      progress: progress({ terminal: { phase: 'Succeeded', reason: '', message: '' } }),
    },
    ['Succeeded', true, false],
  ],
  [
    'failed',
    { observed: observation([sandbox()], ended('a', 137)), progress: progress({ terminal: LATE }) },
    ['Failed', true, false],
  ],
  ['to fail while it still runs', { progress: progress({ terminal: LATE }) }, ['Running', true, false]],
  [
    'to fail while how it ended is not known',
    {
      observed: observation([sandbox()], ended('a', 137, { isProvisional: true })),
      progress: progress({ terminal: LATE }),
    },
    ['Running', true, false],
  ],
  [
    'to fail while a container is being started',
    { observed: observation([]), progress: progress({ terminal: LATE, busy: new Set(['container/a']) }) },
    ['Pending', true, false],
  ],
  ['deleted and running', { isRemoved: true }, ['Running', true, true]],
  [
    'deleted and killed',
    { isRemoved: true, observed: observation([sandbox()], ended('a', 143)) },
    ['Failed', true, false],
  ],
  [
    'deleted and done',
    { isRemoved: true, observed: observation([sandbox()], ended('a', 0)) },
    ['Succeeded', true, false],
  ],
  ['deleted before it began', { isRemoved: true, observed: observation([]) }, ['Failed', true, false]],
])('phase and conditions: %s', (_, change, [phase, initialized, ready]) => {
  const seen = status(change);
  expect([seen.phase, isTrue('Initialized', seen)]).toEqual([phase, initialized]);
  expect(isTrue('ContainersReady', seen)).toBe(ready);
  expect(isTrue('PodScheduled', seen)).toBe(true);
});

test('reports a container that awaits its restart as waiting, with its last state and restart count', () => {
  const [seen] =
    status({ observed: observation([sandbox()], ended('a', 3, { attempt: 2 })), waiting: crashing })
      .containerStatuses ?? [];
  expect(seen).toMatchObject({
    state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
    lastState: { terminated: { exitCode: 3, reason: 'Error', containerID: 'containerd://a-2' } },
    restartCount: 2,
    ready: false,
    started: false,
  });
});

test('contains the reason of a terminated pod, its QoS class and its addresses', () => {
  const over = { observed: observation([sandbox()], ended('a', 137)) };
  expect(status({ ...over, progress: progress({ terminal: LATE }) })).toMatchObject({
    reason: 'DeadlineExceeded',
    message: 'late',
    qosClass: 'Burstable',
    hostIP: '192.0.2.1',
    podIP: '10.0.0.2',
  });
});

test('a terminated pod retains the termination states of collected containers', () => {
  const terminal = { phase: 'Failed', reason: 'Evicted', message: 'short of memory' } as const;
  const over = { progress: progress({ terminal }) };
  const before = status({ ...over, observed: observation([sandbox()], ended('a', 3)) });
  const collected = { ...over, observed: observation([]) };
  expect(status({ ...collected, previous: before }).containerStatuses).toEqual(before.containerStatuses);
  // A container that never ran has not terminated and has no waiting reason.
  const refused = status({ ...collected, previous: status(collected) });
  expect(Object.keys(refused).filter((key) => key.endsWith('Statuses'))).toEqual([]);
  const { containerStatuses } = status({
    ...over,
    pod: testPod({ containers: [{ name: 'a' }, { name: 'b' }] }),
    observed: observation([sandbox()], ended('a', 3)),
  });
  expect(containerStatuses?.map(({ name, state }) => [name, Object.keys(state ?? {})])).toEqual([
    ['a', ['terminated']],
    ['b', ['waiting']],
  ]);
});

test('a pod with host networking has the addresses of the node', () => {
  expect(status({ pod: testPod({ hostNetwork: true }) }).podIPs).toEqual([{ ip: '192.0.2.1' }]);
});

test('a condition retains the time of its last transition', () => {
  const first = status();
  const later = status({ previous: first, nowMs: NOW_MS + 60_000 });
  expect(later.conditions).toEqual(first.conditions);
  const flipped = status({
    previous: first,
    nowMs: NOW_MS + 60_000,
    observed: observation([sandbox()], ended('a', 1)),
  });
  const times = flipped.conditions?.map(({ type, lastTransitionTime }, index) => [
    type,
    lastTransitionTime === first.conditions?.[index]?.lastTransitionTime,
  ]);
  expect(times).toEqual([
    ['Initialized', true],
    ['Ready', false],
    ['ContainersReady', false],
    ['PodScheduled', true],
  ]);
});

test('termination states and restart counts survive the loss of instances in the runtime', () => {
  const crashed = status({ observed: observation([sandbox()], ended('a', 3, { attempt: 2 })) });
  const gone = status({ previous: crashed, observed: observation([sandbox()]) });
  expect(gone.phase).toBe('Running');
  expect(gone.containerStatuses?.[0]).toMatchObject({
    restartCount: 2,
    state: { waiting: { reason: 'ContainerCreating' } },
    lastState: { terminated: { exitCode: 3 } },
  });
  const lost = status({ previous: status(), observed: observation([sandbox()]) });
  const unknown = { exitCode: 137, reason: 'ContainerStatusUnknown', containerID: 'containerd://a-0' };
  expect(lost.containerStatuses?.[0]).toMatchObject({ lastState: { terminated: unknown } });
  // Without a restart this is the termination state.
  const over = { progress: progress({ terminal: LATE }), observed: observation([]) };
  expect(status({ ...over, previous: status() }).containerStatuses?.[0]).toMatchObject({
    state: { terminated: unknown },
    lastState: {},
  });
  expect(status({ ...over, previous: gone }).containerStatuses?.[0]).toMatchObject({
    restartCount: 2,
    state: { terminated: { exitCode: 3 } },
  });
});

test.each(['created', 'exited'] as const)(
  'all containers of a pod with init containers wait with the same reason, an init container that is %s too',
  (state) => {
    const { actions, waiting } = decidePod(
      decideInput({
        pod: testPod({ initContainers: [{ name: 'i' }, { name: 'j' }] }),
        observed: observation([sandbox()], container('i', { kind: 'init', state, exitCode: 1 })),
      }),
    );
    expect(actions).toHaveLength(1);
    expect([...waiting].map(([name, { reason }]) => [name, reason])).toEqual([
      ['i', 'PodInitializing'],
      ['j', 'PodInitializing'],
      ['a', 'PodInitializing'],
    ]);
  },
);

test('a container of an initialized pod awaits its start with the same reason', () => {
  const { waiting } = decidePod(
    decideInput({
      pod: withInit,
      observed: observation([sandbox()], ended('i', 0, { kind: 'init' })),
    }),
  );
  expect(waiting.get('a')?.reason).toBe('PodInitializing');
});
