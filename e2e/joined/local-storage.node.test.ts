/** Eviction of joined pods that exceed their disk limits, as reported to the server. */
import { expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { eventually } from '../../testing/wait.ts';
import { hasPhase, pod, sh } from '../lifecycle/support.ts';
import { startJoined } from './support.ts';

const greedy = {
  volumes: [{ name: 'small', emptyDir: { sizeLimit: '2Mi' } }],
  containers: [
    sh('c', 'trap "" TERM; dd if=/dev/zero of=/small/x bs=1M count=4 2>/dev/null; sleep 1000', {
      volumeMounts: [{ name: 'small', mountPath: '/small' }],
    }),
  ],
};

const EVICTED = {
  phase: 'Failed',
  reason: 'Evicted',
  message: 'Usage of EmptyDir volume "small" exceeds the limit "2Mi". ',
};

test('pods of the server and mirrors of static pods are shown as evicted', async () => {
  await using joined = await startJoined(['--volume-stats-agg-period=1s']);
  await joined.run('theirs', greedy);
  await joined.agent.put('own.json', pod('own', greedy));
  const ends = async (name: string): Promise<Pod> => {
    const ended = await joined.shows(name, hasPhase('Failed'));
    expect(ended.status).toMatchObject(EVICTED);
    return ended;
  };
  const theirs = await ends('theirs');
  await ends('own-n1');
  // Events are not persisted for the next agent.
  await eventually(
    async () => {
      const path = '/api/v1/namespaces/default/events?fieldSelector=reason=Evicted';
      const { items } = (await joined.plane.get(path)).json as {
        items: { involvedObject: { name: string } }[];
      };
      return new Set(items.map(({ involvedObject }) => involvedObject.name)).size === 2;
    },
    { what: 'both are reported in events' },
  );

  // It stays for inspection and is not restarted.
  await joined.agent.stop('SIGKILL');
  await joined.agent.start();
  const terminated = ({ status }: Pod): boolean =>
    status?.containerStatuses?.[0]?.state?.terminated !== undefined;
  const still = await joined.shows('theirs', terminated);
  expect(still.metadata?.uid).toBe(theirs.metadata?.uid);
  expect(still.status).toMatchObject(EVICTED);
  expect((await joined.shows('own-n1', terminated)).status).toMatchObject(EVICTED);
});
