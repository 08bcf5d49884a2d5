import { expect, test } from 'vitest';
import {
  actionText,
  container,
  decideInput,
  ended,
  observation,
  progress,
  sandbox,
  testPod,
} from '../pod.fixture.ts';
import { decideTeardown } from './decide-teardown.ts';
import type { DecideInput } from './decision-types.ts';

const sidecars = testPod({
  terminationGracePeriodSeconds: 20,
  initContainers: [
    { name: 's1', image: 'i', restartPolicy: 'Always' },
    { name: 's2', image: 'i', restartPolicy: 'Always' },
  ],
});
const one = sandbox();
const down = sandbox({ ready: false });
const remove = { kind: 'remove', gracePeriodSeconds: 7 } as const;
const finished = { phase: 'Succeeded', reason: '', message: '' } as const;
const unmounted = progress({ volumes: 'none' });

type Row = readonly [behaviour: string, change: Partial<DecideInput>, actions: readonly string[]];

const ROWS: readonly Row[] = [
  ['ends containers with the grace of the removal', {}, ['killContainer a-0 PodDeleted 7s']],
  [
    'ends what is left of a finished pod with its own grace',
    {
      intent: { kind: 'run' },
      pod: sidecars,
      observed: observation([one], container('s1'), ended('a')),
      progress: progress({ terminal: finished }),
    },
    ['killContainer s1-0 PodFinished 20s'],
  ],
  [
    'ends what is left of a pod with the grace that its end leaves it',
    {
      intent: { kind: 'run' },
      pod: sidecars,
      observed: observation([one], container('s1'), ended('a')),
      progress: progress({
        terminal: { phase: 'Failed', reason: 'Evicted', message: '', gracePeriodSeconds: 1 },
      }),
    },
    ['killContainer s1-0 PodFinished 1s'],
  ],
  [
    'ends apps before sidecars',
    { pod: sidecars, observed: observation([one], container('a'), container('s2'), container('s1')) },
    ['killContainer a-0 PodDeleted 7s'],
  ],
  [
    'ends sidecars last started first, one by one',
    { pod: sidecars, observed: observation([one], ended('a'), container('s2'), container('s1')) },
    ['killContainer s2-0 PodDeleted 7s'],
  ],
  [
    'ends a container in an unknown state too',
    { observed: observation([one], container('a', { state: 'unknown' })) },
    ['killContainer a-0 PodDeleted 7s'],
  ],
  [
    'waits for a start that is under way',
    { observed: observation([one]), progress: progress({ busy: new Set(['container/a']) }) },
    [],
  ],
  [
    'stops the sandbox when all containers have ended',
    { observed: observation([one], ended('a')) },
    ['stopSandbox s1'],
  ],
  [
    'waits for a sandbox that is being made',
    { observed: observation([]), progress: progress({ busy: new Set(['sandbox']) }) },
    [],
  ],
  ['unmounts when the sandbox is down', { observed: observation([down], ended('a')) }, ['unmountVolumes']],
  [
    'unmounts what an earlier agent may have mounted',
    { observed: observation([]), progress: progress({ volumes: 'unknown' }) },
    ['unmountVolumes'],
  ],
  [
    'waits for volumes that are being mounted',
    { observed: observation([]), progress: progress({ busy: new Set(['volumes']) }) },
    [],
  ],
  [
    'removes the pod at last',
    { observed: observation([down], ended('a')), progress: unmounted },
    ['removePod'],
  ],
  [
    'keeps a finished pod that is still wanted',
    {
      intent: { kind: 'run' },
      observed: observation([down], ended('a')),
      progress: progress({ terminal: finished, volumes: 'none' }),
    },
    [],
  ],
  [
    'retains the volumes of a finished pod if configured',
    {
      intent: { kind: 'run' },
      keepTerminatedVolumes: true,
      observed: observation([down], ended('a')),
      progress: progress({ terminal: finished }),
    },
    [],
  ],
  [
    'unmounts them when the pod goes all the same',
    {
      keepTerminatedVolumes: true,
      observed: observation([down], ended('a')),
      progress: progress({ terminal: finished }),
    },
    ['unmountVolumes'],
  ],
];

test.each(ROWS)('%s', (_, change, expected) => {
  const { actions } = decideTeardown(decideInput({ intent: remove, ...change }));
  expect(actions.map(actionText)).toEqual(expected);
});
