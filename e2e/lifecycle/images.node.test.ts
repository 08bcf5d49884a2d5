/** Images that are not there, may not be pulled, cannot be pulled or have no valid name. */
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bench, isRunning, isWaiting, pod, sh, startBench, statusOf, WAIT } from './support.ts';

describe.concurrent('images', () => {
  let bench: Bench;
  /** Takes connections and closes them: a registry that is there and broken. */
  const registry = createServer((_request, response) => response.writeHead(500).end());
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
    const address = registry.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await bench.agent.put('pull.json', withImage('pull', `127.0.0.1:${port}/x/absent:1`, 'IfNotPresent'));
    const failed = await bench.agent.waitFor('pull', isWaiting('c', 'ErrImagePull'));
    expect(statusOf(failed, 'c')?.state?.waiting?.message).toContain('500');
    await bench.event('pull', 'Pulling', /^Pulling image/);
    await bench.event('pull', 'Failed', /^Failed to pull image/);
    const waiting = await bench.agent.waitFor('pull', isWaiting('c', 'ImagePullBackOff'));
    expect(statusOf(waiting, 'c')?.state?.waiting?.message).toMatch(/^Back-off pulling image/);
    await bench.event('pull', 'BackOff', /^Back-off pulling image/);
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
