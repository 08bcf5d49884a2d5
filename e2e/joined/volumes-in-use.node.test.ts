/** Reports of attached volumes by the node. */
import { expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import { csiVolumeName } from '#api/meta/volume-names.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { type Joined, NODE, startJoined } from './support.ts';

const { domain } = VOCABULARIES.plat;
const CLAIMS = '/api/v1/namespaces/default/persistentvolumeclaims';
const DRIVER = 'disks.example.com';

/** A claim of a volume that a driver has to attach. */
async function makeClaim({ plane }: Joined, name: string): Promise<void> {
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  await plane.post('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      ...spec,
      capacity: { storage: '1Gi' },
      csi: { driver: DRIVER, volumeHandle: name },
      claimRef: { namespace: 'default', name },
    },
  });
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name },
    spec: { ...spec, volumeName: name, resources: { requests: { storage: '1Gi' } } },
  };
  const { status, text } = await plane.post(CLAIMS, claim);
  if (status !== 201) throw new Error(`claim ${name}: ${text}`);
}

test('volumes of pods are in use from before they are mounted until the pods are gone', async () => {
  await using joined = await startJoined();
  const inUse = async (): Promise<string> => {
    const { status } = (await joined.plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
    return status?.volumesInUse?.join() ?? '';
  };
  const reports = (names: readonly string[]): Promise<boolean> =>
    eventually(
      async () => (await inUse()) === names.map((one) => csiVolumeName(domain, DRIVER, one)).join(),
      {
        timeoutMs: 20_000,
      },
    );

  const pod = (claimName: string) => ({
    volumes: [{ name: 'disk', persistentVolumeClaim: { claimName } }],
    containers: [sh('c', WAIT, { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] })],
  });
  for (const name of ['one', 'two']) {
    await makeClaim(joined, name);
    await joined.run(name, pod(name));
  }
  expect(await reports(['one', 'two'])).toBe(true);

  // A restarted agent does not remove volumes that it has not yet inspected.
  await joined.agent.stop('SIGKILL');
  await joined.remove('two');
  await joined.agent.start();
  await joined.isGone('two');
  expect(await reports(['one'])).toBe(true);
  await joined.remove('one');
  await joined.isGone('one');
  expect(await reports([])).toBe(true);
});
