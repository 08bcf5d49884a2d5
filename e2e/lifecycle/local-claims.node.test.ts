/** Claims of manifests that name no volume: the agent creates one on the disk of the node. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { type Harness, pod, sh, startHarness, WAIT } from './support.ts';

const claim = (name: string, spec: object, annotations: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, annotations },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '32Mi' } }, ...spec },
  });

const user = (name: string, claimName: string): string =>
  pod(name, {
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
    containers: [sh('app', WAIT, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
  });

describe('claims without a volume', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  const volumes = (): Promise<readonly string[]> => readdir(join(harness.agent.root, 'local-volumes'));

  test('get a directory, whose content survives its pods and the agent', async () => {
    const { agent } = harness;
    await agent.put('claim.json', claim('data', {}));
    await agent.put('pod.json', user('web', 'data'));
    await harness.exec(await agent.waitFor('web', isReady), 'app', 'echo kept > /v/f');
    await agent.drop('pod.json');
    await eventually(async () => (await agent.pod('web')) === undefined, { timeoutMs: 60_000 });
    await agent.stop('SIGKILL');
    await agent.drop('claim.json');
    await agent.start();
    // Without a policy the content is retained, and the next claim of this name gets it.
    await agent.put('claim.json', claim('data', {}));
    await agent.put('pod.json', user('other', 'data'));
    expect(await harness.exec(await agent.waitFor('other', isReady), 'app', 'cat /v/f')).toBe('kept\n');
    expect(await volumes()).toContain('default_data');
  });

  test('get a file system of the requested size, which goes with a claim that says so', async () => {
    const { agent } = harness;
    const policy = { [`local.${VOCABULARIES.plat.domain}/reclaim-policy`]: 'Delete' };
    await agent.put('sized.json', claim('sized', { storageClassName: 'local-filesystem' }, policy));
    await agent.put('sized-pod.json', user('sized', 'sized'));
    const found = await agent.waitFor('sized', isReady);
    await expect(harness.exec(found, 'app', 'dd if=/dev/zero of=/v/big bs=1M count=40')).rejects.toThrow(
      /No space left/,
    );
    await agent.drop('sized.json');
    await agent.put('marker.json', claim('marker', {}));
    // The pod still has it.
    expect(await harness.exec(found, 'app', 'test -e /v/big && echo there')).toBe('there\n');
    await agent.drop('sized-pod.json');
    await eventually(async () => !(await volumes()).includes('default_sized'), { timeoutMs: 60_000 });
    await eventually(async () => (await volumes()).every((name) => !name.startsWith('.')), {
      timeoutMs: 60_000,
    });
  });
});
