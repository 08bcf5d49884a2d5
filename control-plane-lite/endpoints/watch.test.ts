import { expect, test, vi } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCacheFixture, lineEncoder, PODS } from '../cache/cache.fixture.ts';
import type { ApiRequest } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { EndpointDeps } from './deps.ts';
import { watchEndpoint } from './watch.ts';

test('begins no watch for a client that left before the state was known', async () => {
  await using fixture = createCacheFixture();
  await fixture.start();
  const begun = vi.spyOn(fixture.pods, 'watch');
  const leaving = new AbortController();
  const resource = { info: { group: '', plural: 'pods', namespaced: true }, storage: PODS, strategy: {} };
  const content = { watching: () => ({ encoder: lineEncoder }) };
  const deps = { clock: createFakeClock(), vocabulary: VOCABULARIES.plat, cache: fixture.cache, content };
  const request = {
    info: { namespace: 'n', name: '' },
    query: new URLSearchParams('watch=1'),
    signal: leaving.signal,
  };
  const response = watchEndpoint(
    deps as unknown as EndpointDeps,
    request as unknown as ApiRequest,
    resource as unknown as Resource,
  );
  leaving.abort(new Error('gone'));
  await expect(response).rejects.toThrow('gone');
  expect(begun).not.toHaveBeenCalled();
});
