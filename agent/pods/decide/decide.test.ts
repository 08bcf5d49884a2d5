import { describe, expect, test } from 'vitest';
import {
  actionText,
  container,
  decideInput,
  ended,
  NOW_MS,
  observation,
  progress,
  sandbox,
  testPod,
} from '../pod.fixture.ts';
import { decidePod } from './decide.ts';
import type { DecideInput, PodProgress } from './decision-types.ts';

type Row = readonly [behaviour: string, change: Partial<DecideInput>, actions: readonly string[]];

const inits = {
  initContainers: [
    { name: 'i1', image: 'i' },
    { name: 'side', image: 'i', restartPolicy: 'Always' as const },
    { name: 'i2', image: 'i' },
  ],
};
const one = sandbox();
const withInits = testPod(inits);
const failure = { reason: 'ErrImagePull', message: 'no', retryAtMs: NOW_MS + 5000 };
const crash = { delayMs: 10_000, restartedAtMs: NOW_MS - 2000 };

const renewed = testPod({ containers: [{ name: 'a', image: 'newer' }] });

const RENEWED: readonly Row[] = [
  ['ends a container of another image', { pod: renewed }, ['killContainer a-0 Changed 30s']],
  [
    'leaves a container alone that an agent with other defaults made',
    { observed: observation([one], container('a', { hash: 'other' })) },
    [],
  ],
  [
    'starts it again at once, whatever its policy',
    {
      pod: testPod({ ...renewed.spec, restartPolicy: 'Never' }),
      observed: observation([one], ended('a')),
      progress: progress({ containers: new Map([['a', { crash }]]) }),
    },
    ['startContainer a#1'],
  ],
  [
    'leaves its neighbours alone',
    {
      pod: testPod({
        containers: [
          { name: 'a', image: 'newer' },
          { name: 'b', image: 'i' },
        ],
      }),
      observed: observation([one], container('a'), container('b')),
    },
    ['killContainer a-0 Changed 30s'],
  ],
];

const START: readonly Row[] = [
  ['leaves a running container alone', {}, []],
  [
    'mounts volumes and makes a sandbox side by side',
    { observed: observation([]), progress: progress({ volumes: 'none' }) },
    ['mountVolumes', 'createSandbox #0'],
  ],
  [
    'mounts again after a restart of the agent, though all runs',
    { progress: progress({ volumes: 'unknown' }) },
    ['mountVolumes'],
  ],
  ['starts a container when all is ready', { observed: observation([one]) }, ['startContainer a#0']],
  [
    'starts no container without volumes',
    { observed: observation([one]), progress: progress({ volumes: 'unknown' }) },
    ['mountVolumes'],
  ],
  [
    'does not do twice what is under way',
    { observed: observation([one]), progress: progress({ busy: new Set(['container/a']) }) },
    [],
  ],
  [
    'stops a dead sandbox before it makes another',
    { observed: observation([sandbox({ ready: false })], ended('a', 137)) },
    ['stopSandbox s1'],
  ],
  [
    'ends what still seems to run in a dead sandbox before it makes another',
    {
      observed: observation([sandbox({ ready: false })], container('a')),
      progress: progress({ stoppedSandboxes: new Set(['s1']) }),
    },
    ['killContainer a-0 SandboxEnded 0s'],
  ],
  [
    'ends what still seems to run in a sandbox that is gone before it makes another',
    { observed: observation([], container('a', { state: 'unknown' })) },
    ['killContainer a-0 SandboxEnded 0s'],
  ],
  [
    'makes the next sandbox when the dead one was stopped',
    {
      observed: observation([sandbox({ ready: false })], ended('a', 137)),
      progress: progress({ stoppedSandboxes: new Set(['s1']) }),
    },
    ['createSandbox #1'],
  ],
  [
    'removes a container that an agent made and did not start',
    { observed: observation([one], container('a', { state: 'created' })) },
    ['removeContainer a-0'],
  ],
  [
    'replaces a container in an unknown state',
    { observed: observation([one], container('a', { state: 'unknown' })) },
    ['killContainer a-0 StateUnknown 30s'],
  ],
];

const INIT: readonly Row[] = [
  ['starts the first init container alone', { observed: observation([one]) }, ['startContainer i1#0']],
  ['waits while an init container runs', { observed: observation([one], container('i1')) }, []],
  ['starts the sidecar after it', { observed: observation([one], ended('i1')) }, ['startContainer side#0']],
  [
    'starts the next init container beside the sidecar',
    { observed: observation([one], container('side'), ended('i1')) },
    ['startContainer i2#0'],
  ],
  [
    'starts the app when all init containers have succeeded',
    { observed: observation([one], ended('i2'), container('side'), ended('i1')) },
    ['startContainer a#0'],
  ],
  [
    'starts a failed init container again',
    { observed: observation([one], ended('i1', 1)) },
    ['startContainer i1#1'],
  ],
  [
    'restarts a sidecar that ended under a running app, and nothing else',
    { observed: observation([one], container('a'), ended('i2'), ended('side', 1), ended('i1')) },
    ['startContainer side#1'],
  ],
  [
    'does init containers again in a new sandbox',
    {
      observed: observation(
        [sandbox({ id: 's2', attempt: 1 }), sandbox({ ready: false })],
        ended('a', 137),
        ended('i2'),
        ended('side', 137),
        ended('i1'),
      ),
    },
    ['startContainer i1#1'],
  ],
  [
    'lets the pod fail with its init container when nothing is restarted',
    { pod: testPod({ ...inits, restartPolicy: 'Never' }), observed: observation([one], ended('i1', 1)) },
    ['finish Failed'],
  ],
];

const RESTART: readonly Row[] = [
  [
    'Always: starts again after success',
    { observed: observation([one], ended('a')) },
    ['startContainer a#1'],
  ],
  [
    'OnFailure: starts again after a failure',
    { pod: testPod({ restartPolicy: 'OnFailure' }), observed: observation([one], ended('a', 1)) },
    ['startContainer a#1'],
  ],
  [
    'OnFailure: ends with success',
    { pod: testPod({ restartPolicy: 'OnFailure' }), observed: observation([one], ended('a')) },
    ['finish Succeeded'],
  ],
  [
    'Never: ends with failure',
    { pod: testPod({ restartPolicy: 'Never' }), observed: observation([one], ended('a', 3)) },
    ['finish Failed'],
  ],
  [
    'waits while it crashes in a loop',
    {
      observed: observation([one], ended('a', 1)),
      progress: progress({ containers: new Map([['a', { crash }]]) }),
    },
    [],
  ],
  [
    'waits after a start that failed',
    {
      observed: observation([one]),
      progress: progress({ containers: new Map([['a', { failure }]]) }),
    },
    [],
  ],
  [
    'kills a container whose probe gave up, with the grace of the probe',
    {
      progress: progress({
        probes: new Map([
          ['a-0', { started: true, ready: false, failure: { message: 'no', gracePeriodSeconds: 2 } }],
        ]),
      }),
    },
    ['killContainer a-0 Unhealthy 2s'],
  ],
  [
    'fails a pod that is past its deadline',
    { pod: testPod({ activeDeadlineSeconds: 60 }) },
    ['finish Failed DeadlineExceeded'],
  ],
  [
    'ends what has ended already no second time',
    {
      progress: progress({ terminal: { phase: 'Failed', reason: '', message: '' }, volumes: 'none' }),
      observed: observation([sandbox({ ready: false })], ended('a')),
    },
    [],
  ],
];

const actions = (change: Partial<DecideInput>): readonly string[] =>
  decidePod(decideInput(change)).actions.map(actionText);

describe('decidePod', () => {
  test.each(START)('%s', (_, change, expected) => expect(actions(change)).toEqual(expected));
  test.each(INIT)('%s', (_, change, expected) =>
    expect(actions({ pod: withInits, ...change })).toEqual(expected),
  );
  test.each(RENEWED)('%s', (_, change, expected) => expect(actions(change)).toEqual(expected));
  test.each(RESTART)('%s', (_, change, expected) => expect(actions(change)).toEqual(expected));

  test.each<readonly [string, Partial<DecideInput>, string, number]>([
    [
      'crash loop',
      {
        observed: observation([one], ended('a', 1)),
        progress: progress({ containers: new Map([['a', { crash }]]) }),
      },
      'CrashLoopBackOff: back-off 10s restarting failed container=a pod=web_default(u1)',
      NOW_MS + 9000,
    ],
    [
      'failed start',
      { observed: observation([one]), progress: progress({ containers: new Map([['a', { failure }]]) }) },
      'ErrImagePull: no',
      NOW_MS + 5000,
    ],
  ])('reports the waiting reason and the time of the next decision: %s', (_, change, reason, wakeAtMs) => {
    const decision = decidePod(decideInput(change));
    const waiting = decision.waiting.get('a');
    expect(`${waiting?.reason}: ${waiting?.message}`).toBe(reason);
    expect(decision.wakeAtMs).toBe(wakeAtMs);
  });

  test('reports the time of the next mount attempt until the volumes are ready', () => {
    const atMs = Date.parse('2026-01-01T00:01:00Z');
    const failed = { volumes: 'unknown', retryAtMs: new Map([['volumes', atMs]]) } as const;
    const waitingOf = (observed: DecideInput['observed'], now: Partial<PodProgress>): unknown =>
      decidePod(decideInput({ observed, progress: progress(now) })).waiting.get('a');
    const message = 'its volumes are not ready; the next try is at 2026-01-01T00:01:00Z';
    for (const observed of [observation([]), observation([one])]) {
      expect(waitingOf(observed, failed)).toEqual({ reason: 'ContainerCreating', message });
      expect(waitingOf(observed, { ...failed, busy: new Set(['volumes']) })).toMatchObject({ message });
      expect(waitingOf(observed, { ...failed, volumes: 'mounted' })).toMatchObject({ message: '' });
    }
  });

  test('delays a failed operation until its retry time, and wakes for it', () => {
    const retryAtMs = new Map([['sandbox', NOW_MS + 700]]);
    const change = { observed: observation([]), progress: progress({ retryAtMs }) };
    expect(decidePod(decideInput(change))).toMatchObject({ actions: [], wakeAtMs: NOW_MS + 700 });
    expect(decidePod(decideInput({ ...change, nowMs: NOW_MS + 700 })).actions).toHaveLength(1);
  });

  test('wakes at the deadline of a pod', () => {
    const pod = testPod({ activeDeadlineSeconds: 90 });
    expect(decidePod(decideInput({ pod })).wakeAtMs).toBe(NOW_MS + 30_000);
  });
});
