import { expect, test } from 'vitest';
import type { ApiRequest, PathRoute } from '../contract.ts';
import { withWaits } from './health-waits.ts';

const body = '[+]ping ok\nhealthz check passed\n';
const route: PathRoute = {
  path: '/healthz',
  below: true,
  methods: ['GET'],
  handler: () =>
    Promise.resolve({ kind: 'bytes', status: 200, contentType: 'text/plain', body: Buffer.from(body) }),
};
const wait = { what: 'the store', sinceMs: 0, why: 'refused' };

async function probe(path: string, query: string, lasting = [wait]): Promise<string> {
  const [only] = withWaits([route], { waits: { lasting: () => lasting }, now: () => 7000 });
  const request = { info: { path }, query: new URLSearchParams(query) } as unknown as ApiRequest;
  const response = await only?.handler(request);
  return response?.kind === 'bytes' ? [response.body].flat().join('') : '';
}

test('lists waits before the result in the verbose form', async () => {
  const with1 = '[+]ping ok\nwaiting for the store (7 s): refused\nhealthz check passed\n';
  expect(await probe('/healthz', 'verbose')).toBe(with1);
  expect(await probe('/healthz', 'verbose', [])).toBe(body);
  expect(await probe('/healthz', '')).toBe(body);
  expect(await probe('/healthz/ping', 'verbose')).toBe(body);
});
