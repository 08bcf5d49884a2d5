import { expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { combineFailures, VolumeSetupError, VolumeTimeoutError } from '#volumes/errors/setup-error.ts';
import { failureEvents } from './failure-events.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: { containers: [], volumes: [{ name: 'cfg' }, { name: 'data' }, { name: 'nfs' }] },
};
const failures = [
  { name: 'cfg', error: new VolumeSetupError('ConfigMap default/app not found') },
  { name: 'data', error: new VolumeSetupError('forbidden', { reason: 'FailedAttachVolume' as const }) },
  { name: 'nfs', error: new VolumeTimeoutError('is not ready after 2 min 3 s') },
];
const ofVolumes = [
  {
    reason: 'FailedMount',
    message: 'MountVolume.SetUp failed for volume "cfg" : ConfigMap default/app not found',
  },
  { reason: 'FailedAttachVolume', message: 'AttachVolume.Attach failed for volume "data" : forbidden' },
];

const mountEvents = (waitedMs: number) =>
  failureEvents({ kind: 'mountVolumes', error: combineFailures(failures), pod, isFirst: true, waitedMs });

test('each failed volume has an event of its own', () => {
  expect(mountEvents(122_999)).toEqual(ofVolumes);
});

test('the pod has an event once it has waited as long as upstream', () => {
  expect(mountEvents(123_000)).toEqual([
    ...ofVolumes,
    {
      reason: 'FailedMount',
      message:
        'Unable to attach or mount volumes: unmounted volumes=[cfg data nfs], ' +
        'unattached volumes=[cfg data nfs]: timed out waiting for the condition',
    },
  ]);
});

test('a failed stop has an event only once it has failed again', () => {
  const failure = { kind: 'killContainer', error: new Error('no such task'), pod, waitedMs: 0 } as const;
  expect(failureEvents({ ...failure, isFirst: true })).toEqual([]);
  expect(failureEvents({ ...failure, isFirst: false })).toEqual([
    { reason: 'FailedKillPod', message: 'no such task' },
  ]);
});
