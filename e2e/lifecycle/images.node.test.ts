/** Images that are not there, may not be pulled, cannot be pulled or have no valid name. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type Bench, isRunning, isWaiting, pod, sh, startBench, statusOf, WAIT } from './support.ts';

describe.concurrent('images', () => {
  let bench: Bench;
  const logins = new Set<string>();
  /** A registry that asks for a login and then is broken. */
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
    bench = await startBench();
  });
  afterAll(async () => {
    registry.close();
    await bench[Symbol.asyncDispose]();
  });

  const withImage = (name: string, image: string, imagePullPolicy: 'Never' | 'Always' | 'IfNotPresent') =>
    pod(name, { containers: [sh('c', WAIT, { image, imagePullPolicy })] });

  test('Never: an image that is not there is not pulled', async () => {
    await bench.agent.put('never.json', withImage('never', 'local/absent:1', 'Never'));
    const found = await bench.agent.waitFor('never', isWaiting('c', 'ErrImageNeverPull'));
    expect(statusOf(found, 'c')?.state?.waiting?.message).toBe(
      'Container image "local/absent:1" is not present with pull policy of Never',
    );
    expect(found.status?.phase).toBe('Pending');
    await bench.event('never', 'ErrImageNeverPull');
  });

  test('a pull that fails is told and then backs off', async () => {
    await bench.agent.put('pull.json', withImage('pull', `${registryName()}/x/absent:1`, 'IfNotPresent'));
    const failed = await bench.agent.waitFor('pull', isWaiting('c', 'ErrImagePull'));
    expect(statusOf(failed, 'c')?.state?.waiting?.message).toMatch(/authorization|auth|401/i);
    await bench.event('pull', 'Pulling', /^Pulling image/);
    await bench.event('pull', 'Failed', /^Failed to pull image/);
    const waiting = await bench.agent.waitFor('pull', isWaiting('c', 'ImagePullBackOff'));
    expect(statusOf(waiting, 'c')?.state?.waiting?.message).toMatch(/^Back-off pulling image/);
    await bench.event('pull', 'BackOff', /^Back-off pulling image/);
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
    await bench.agent.put('login.json', JSON.stringify(manifest));
    await bench.agent.put(
      'secret.json',
      pod('secret', {
        imagePullSecrets: [{ name: 'login' }],
        containers: [sh('c', WAIT, { image: `${registryName()}/x/private:1`, imagePullPolicy: 'Always' })],
      }),
    );
    const failed = await bench.agent.waitFor('secret', isWaiting('c', 'ErrImagePull'));
    expect(statusOf(failed, 'c')?.state?.waiting?.message).toContain('500');
    expect([...logins]).toEqual([`Basic ${auth}`]);
  });

  test('a name that is none', async () => {
    await bench.agent.put('name.json', withImage('name', 'Not//An:Image:Name', 'IfNotPresent'));
    await bench.agent.waitFor('name', isWaiting('c', 'InvalidImageName'));
    expect(await bench.event('name', 'InspectFailed')).toMatch(/Not\/\/An:Image:Name/);
  });

  test('an image that is there runs without a pull', async () => {
    await bench.agent.put('there.json', withImage('there', 'local/busybox:1', 'IfNotPresent'));
    const found = await bench.agent.waitFor('there', isRunning('c'));
    expect(await bench.event('there', 'Pulled')).toMatch(/already present on machine$/);
    expect(statusOf(found, 'c')?.imageID).toMatch(/sha256:/);
  });
});
