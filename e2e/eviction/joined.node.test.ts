/** Node pressure on a joined node: it is reported to the server, which schedules no pods there; static pods
 *  stay. */
import { expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { NODE, startJoined } from '../joined/support.ts';
import { pod, sh, WAIT } from '../lifecycle/support.ts';
import { isEvicted, QUICK } from './support.ts';

test('its pods of the server are evicted, and it is tainted as long as the pressure lasts', async () => {
  await using joined = await startJoined(QUICK);
  const { agent, plane } = joined;
  const node = async (): Promise<Node> => (await plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
  const pressed = async (): Promise<readonly [string | undefined, boolean]> => {
    const { status, spec } = await node();
    const condition = status?.conditions?.find(({ type }) => type === 'MemoryPressure');
    return [condition?.status, spec?.taints?.some(({ key }) => key.endsWith('/memory-pressure')) === true];
  };
  const becomes = (wanted: readonly [string, boolean]): Promise<true> =>
    eventually(
      async () => {
        const found = await pressed();
        if (String(found) === String(wanted)) return true;
        throw new Error(`it is ${found.join()}`);
      },
      { timeoutMs: 30_000, what: `the node reports memory conditions: ${wanted.join()}` },
    );

  await agent.put('static.json', pod('static', { containers: [sh('c', WAIT)] }));
  await agent.waitFor('static', isReady);
  await joined.run('loose', { containers: [sh('c', WAIT)] });
  await joined.shows('loose', isReady);
  await becomes(['False', false]);

  await agent.stop();
  await agent.start(['--eviction-hard=memory.available<99%']);
  const { status } = await joined.shows('loose', isEvicted);
  expect(status?.message).toMatch(/^The node was low on resource: memory\./);
  await becomes(['True', true]);
  expect((await agent.pod('static'))?.status?.phase).toBe('Running');

  await agent.stop();
  await agent.start();
  await becomes(['False', false]);
  expect((await joined.shows('loose', isEvicted)).status?.phase).toBe('Failed');
  await joined.remove('loose');
  await joined.isGone('loose');
}, 120_000);
