/** Graceful shutdown of a joined node, as the API server and monitoring see it. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { EventList, Node, NodeCondition } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { freePort } from '../../testing/free-port.ts';
import { startTestLoginManager } from '../../testing/login-manager.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { hasPhase, isRunning, sh, WAIT } from '../lifecycle/support.ts';
import { NODE, startJoined } from './support.ts';

const { agentComponent, configApiGroup, configKind: kind } = VOCABULARIES.plat;

test('its pods end, others are refused, and it is not ready until that is called off', async () => {
  await using folder = await createTempDir('na-down-');
  await using logins = await startTestLoginManager(folder.path);
  const port = await freePort();
  const config = `${folder.path}/config.json`;
  await writeFile(
    config,
    JSON.stringify({ apiVersion: `${configApiGroup}/v1beta1`, kind, shutdownGracePeriod: '20s' }),
  );
  const flags = [`--config=${config}`, '--enable-server', `--read-only-port=${port}`];
  await using joined = await startJoined(flags, undefined, logins.env);
  const { plane } = joined;
  const readiness = async (): Promise<NodeCondition | undefined> => {
    const { status } = (await plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
    return status?.conditions?.find(({ type }) => type === 'Ready');
  };
  const becomes = (status: string): Promise<NodeCondition> =>
    eventually(
      async () => {
        const found = await readiness();
        if (found?.status === status) return found;
        throw new Error(`it is ${JSON.stringify(found)}`);
      },
      { timeoutMs: 20_000, what: `Ready is ${status}` },
    );
  const reported = (message: string): Promise<unknown> =>
    eventually(async () => {
      const { items } = (await plane.get('/api/v1/namespaces/default/events')).json as EventList;
      return items.find((event) => event.reason === 'Shutdown' && event.message === message);
    });
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(new RegExp(`^${agentComponent}_${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };

  await joined.run('early', { containers: [sh('c', WAIT)] });
  await joined.shows('early', isRunning('c'));
  await becomes('True');
  await logins.listened;
  expect(await metric('graceful_shutdown_start_time_seconds')).toBe(0);

  logins.prepareForShutdown(true);
  expect((await joined.shows('early', hasPhase('Failed'))).status).toMatchObject({
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
  });
  await joined.run('late', { containers: [sh('c', WAIT)] });
  expect((await joined.shows('late', hasPhase('Failed'))).status).toMatchObject({
    reason: 'NodeShutdown',
    message: 'Pod was rejected as the node is shutting down.',
  });
  expect((await becomes('False')).message).toBe('node is shutting down');
  await reported('Shutdown manager detected shutdown event');
  // Zero until all pods have stopped.
  const ended = await eventually(
    async () => (await metric('graceful_shutdown_end_time_seconds')) || undefined,
  );
  expect(ended).toBeGreaterThanOrEqual(await metric('graceful_shutdown_start_time_seconds'));

  logins.prepareForShutdown(false);
  await becomes('True');
  await reported('Shutdown manager detected shutdown cancellation');
  await joined.run('after', { containers: [sh('c', WAIT)] });
  await joined.shows('after', isRunning('c'));
}, 90_000);
