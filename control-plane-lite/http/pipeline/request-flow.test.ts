/** The client for whom a request waits for its turn (decision 0147): known before the request is authenticated. */
import { Client } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { ANONYMOUS } from '../../authn/users.ts';
import { createListener } from '../connection/listener.ts';
import { echo } from '../server.fixture.ts';
import { pipelineParts } from '../server.ts';
import { createPipeline } from './pipeline.ts';

const UNKNOWN = '\n127.0.0.1';

async function startServer(flows: string[]): Promise<number> {
  const parts = pipelineParts(
    {
      clock: systemClock,
      log: silentLogger,
      vocabulary: VOCABULARIES.plat,
      registry: createMetricsRegistry(),
      authenticate: ({ bearerToken }) =>
        bearerToken === 'bad'
          ? { kind: 'rejected', message: 'a bad token' }
          : {
              kind: 'user',
              user: bearerToken === undefined ? ANONYMOUS : { name: bearerToken, groups: [], extra: {} },
            },
      impersonate: ({ headers, user }) => {
        const name = headers['impersonate-user'];
        return typeof name === 'string' ? { name, groups: [], extra: {} } : user;
      },
      authorize: () => ({ effect: 'allow', reason: '' }),
      routes: [],
      resources: echo,
    },
    {},
  );
  const joinBatch = async (flow: string): Promise<void> => void flows.push(flow);
  const pipeline = createPipeline(
    { ...parts, joinBatch },
    { requestTimeoutMs: 60_000, bodyLimitBytes: 1000 },
  );
  const listener = createListener({ serve: pipeline.serve }, {});
  onTestFinished(async () => {
    listener.destroy();
    await listener.drain();
  });
  return await listener.listen({ host: '127.0.0.1', port: 0 });
}

function openConnection(port: number): (headers: Readonly<Record<string, string>>) => Promise<number> {
  const client = new Client(`http://127.0.0.1:${port}`);
  onTestFinished(() => client.destroy());
  return async (headers) => {
    const { statusCode, body } = await client.request({ method: 'GET', path: '/api/v1/pods', headers });
    await body.dump();
    return statusCode;
  };
}

const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });

test('is that of the last request of its connection', async () => {
  const flows: string[] = [];
  const get = openConnection(await startServer(flows));
  await get(bearer('ann'));
  await get({ ...bearer('ann'), 'impersonate-user': 'bob' });
  await get({});
  await get(bearer('ann'));
  expect(flows).toEqual([UNKNOWN, 'ann', 'bob', UNKNOWN]);
});

test('is one of its address for every connection that never authenticated', async () => {
  const flows: string[] = [];
  const port = await startServer(flows);
  const [first, second] = [openConnection(port), openConnection(port)];
  expect(await first(bearer('bad'))).toBe(401);
  expect(await first(bearer('bad'))).toBe(401);
  await second({});
  await second({});
  expect(flows).toEqual([UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]);
});
