/** Generic ephemeral volumes: claims created by the server's controller and used by the agent. */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { PersistentVolumeClaim, Pod } from '#api/gen/core-v1.ts';
import { eventually } from '../../testing/wait.ts';
import { isRunning, sh, WAIT } from '../lifecycle/support.ts';
import { type Joined, startJoined } from './support.ts';

const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const COMMON = {
  accessModes: ['ReadWriteOnce'],
  storageClassName: '',
  resources: { requests: { storage: '1Gi' } },
};

const user = {
  volumes: [
    {
      name: 'scratch',
      ephemeral: { volumeClaimTemplate: { metadata: { labels: { of: 'scratch' } }, spec: COMMON } },
    },
  ],
  containers: [
    sh('c', `echo mine > /scratch/f; ${WAIT}`, {
      volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }],
    }),
  ],
};

const claimOf = async ({ plane }: Joined, name: string): Promise<PersistentVolumeClaim | undefined> => {
  const response = await plane.get(`${CLAIMS}/${name}`);
  return response.status === 200 ? (response.json as PersistentVolumeClaim) : undefined;
};

async function makeVolume({ plane, agent }: Joined, name: string): Promise<string> {
  const path = join(agent.root, name);
  await mkdir(path, { recursive: true });
  const { accessModes, storageClassName } = COMMON;
  await plane.post('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: { accessModes, storageClassName, capacity: { storage: '1Gi' }, hostPath: { path } },
  });
  return path;
}

const messagesOf = async ({ plane }: Joined, pod: string): Promise<string> => {
  const response = await plane.get(
    `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=${pod},reason=FailedMount`,
  );
  return (response.json as { items: readonly { message?: string }[] }).items
    .map(({ message }) => message)
    .join('\n');
};

const waitsForVolumes = ({ status }: Pod): boolean =>
  status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ContainerCreating';

test('ephemeral: the claim is named, owned and used, goes with the pod, and a foreign one blocks', async () => {
  await using joined = await startJoined();
  const path = await makeVolume(joined, 'disk');
  const pod = await joined.run('web', user);
  await joined.shows('web', isRunning('c'));
  await eventually(async () => (await readFile(join(path, 'f'), 'utf8')) === 'mine\n');
  const claim = await claimOf(joined, 'web-scratch');
  expect(claim?.metadata?.labels).toEqual({ of: 'scratch' });
  expect(claim?.metadata?.ownerReferences).toMatchObject([
    { kind: 'Pod', name: 'web', uid: pod.metadata?.uid, controller: true },
  ]);
  await joined.remove('web');
  await joined.isGone('web');
  await eventually(async () => (await claimOf(joined, 'web-scratch')) === undefined);

  await makeVolume(joined, 'other');
  const { status, text } = await joined.plane.post(CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'thief-scratch' },
    spec: COMMON,
  });
  expect([status, text.slice(0, 200)]).toEqual([201, expect.anything()]);
  await eventually(async () => (await claimOf(joined, 'thief-scratch'))?.status?.phase === 'Bound');
  await joined.run('thief', user);
  await eventually(async () =>
    (await messagesOf(joined, 'thief')).includes(
      'PersistentVolumeClaim default/thief-scratch was not created for pod default/thief (pod is not owner)',
    ),
  );
  // The event may precede the status.
  await joined.shows('thief', waitsForVolumes);
});
