/** Images that do not exist, must not be pulled, cannot be pulled or have invalid names. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type Harness, isRunning, isWaiting, pod, sh, startHarness, statusOf, WAIT } from './support.ts';

describe.concurrent('images', () => {
  let harness: Harness;
  const logins = new Set<string>();
  /** A registry that requires a login and then fails. */
  const registry = createServer(({ headers }, response) => {
    if (headers.authorization === undefined) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end();
      return;
    }
    logins.add(headers.authorization);
    response.writeHead(500).end();
  });
  const registryName = (): string => {
    const address = registry.address();
    return `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  };
  beforeAll(async () => {
    await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
    harness = await startHarness();
  });
  afterAll(async () => {
    registry.close();
    await harness[Symbol.asyncDispose]();
  });

  const withImage = (name: string, image: string, imagePullPolicy: 'Never' | 'Always' | 'IfNotPresent') =>
    pod(name, { containers: [sh('c', WAIT, { image, imagePullPolicy })] });

  test('Never: an image that is not there is not pulled', async () => {
    await harness.agent.put('never.json', withImage('never', 'local/absent:1', 'Never'));
    const found = await harness.agent.waitFor('never', isWaiting('c', 'ErrImageNeverPull'));
    expect(statusOf(found, 'c')?.state?.waiting?.message).toBe(
      'Container image "local/absent:1" is not present with pull policy of Never',
    );
    expect(found.status?.phase).toBe('Pending');
    await harness.event('never', 'ErrImageNeverPull');
  });

  test('a pull that fails is reported and then backs off', async () => {
    await harness.agent.put('pull.json', withImage('pull', `${registryName()}/x/absent:1`, 'IfNotPresent'));
    const failed = await harness.agent.waitFor('pull', isWaiting('c', 'ErrImagePull'));
    expect(statusOf(failed, 'c')?.state?.waiting?.message).toMatch(/authorization|auth|401/i);
    await harness.event('pull', 'Pulling', /^Pulling image/);
    await harness.event('pull', 'Failed', /^Failed to pull image/);
    const waiting = await harness.agent.waitFor('pull', isWaiting('c', 'ImagePullBackOff'));
    expect(statusOf(waiting, 'c')?.state?.waiting?.message).toMatch(/^Back-off pulling image/);
    await harness.event('pull', 'BackOff', /^Back-off pulling image/);
  });

  test('imagePullSecrets log in', async () => {
    const auth = Buffer.from('user:pass').toString('base64');
    const manifest = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'login' },
      type: VOCABULARIES.plat.secretTypeDockerConfigJson,
      stringData: { '.dockerconfigjson': JSON.stringify({ auths: { [registryName()]: { auth } } }) },
    };
    await harness.agent.put('login.json', JSON.stringify(manifest));
    await harness.agent.put(
      'secret.json',
      pod('secret', {
        imagePullSecrets: [{ name: 'login' }],
        containers: [sh('c', WAIT, { image: `${registryName()}/x/private:1`, imagePullPolicy: 'Always' })],
      }),
    );
    const failed = await harness.agent.waitFor('secret', isWaiting('c', 'ErrImagePull'));
    expect(statusOf(failed, 'c')?.state?.waiting?.message).toContain('500');
    expect([...logins]).toEqual([`Basic ${auth}`]);
  });

  test('a name that is none', async () => {
    await harness.agent.put('name.json', withImage('name', 'Not//An:Image:Name', 'IfNotPresent'));
    await harness.agent.waitFor('name', isWaiting('c', 'InvalidImageName'));
    expect(await harness.event('name', 'InspectFailed')).toMatch(/Not\/\/An:Image:Name/);
  });

  test('an image that is there runs without a pull', async () => {
    await harness.agent.put('there.json', withImage('there', 'local/busybox:1', 'IfNotPresent'));
    const found = await harness.agent.waitFor('there', isRunning('c'));
    expect(await harness.event('there', 'Pulled')).toMatch(/already present on machine$/);
    expect(statusOf(found, 'c')?.imageID).toMatch(/sha256:/);
  });
});
