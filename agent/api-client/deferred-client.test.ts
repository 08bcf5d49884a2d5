import { describe, expect, test } from 'vitest';
import type { ApiClient } from './client.ts';
import { deferredClient } from './deferred-client.ts';

const address = { apiVersion: 'v1', resource: 'pods', name: 'a' };
const { signal } = new AbortController();

function fakeClient(): { readonly client: ApiClient; readonly asked: string[] } {
  const asked: string[] = [];
  const client: Partial<ApiClient> = {
    get: ({ name }) => {
      asked.push(name);
      return Promise.resolve({ name });
    },
    async *watch() {
      yield { type: 'ADDED', object: {} };
    },
    [Symbol.asyncDispose]: async () => void asked.push('closed'),
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is not there is not asked for
  return { client: client as ApiClient, asked };
}

describe('deferredClient', () => {
  test('holds requests until there is a client, then forwards them', async () => {
    const { client, asked } = fakeClient();
    const opening = Promise.withResolvers<ApiClient>();
    const deferred = deferredClient(opening.promise);
    const got = deferred.get(address, signal);
    expect(asked).toEqual([]);
    opening.resolve(client);
    expect(await got).toEqual({ name: 'a' });
    const events = [];
    for await (const event of deferred.watch(address, signal)) events.push(event.type);
    expect(events).toEqual(['ADDED']);
    await deferred[Symbol.asyncDispose]();
    expect(asked).toEqual(['a', 'closed']);
  });

  test('stops waiting with the signal, and closes at once without a client', async () => {
    const deferred = deferredClient(new Promise<ApiClient>(() => undefined));
    const stop = new AbortController();
    const got = deferred.get(address, stop.signal);
    stop.abort(new Error('enough'));
    await expect(got).rejects.toThrow('enough');
    await deferred[Symbol.asyncDispose]();
    expect(stop.signal.aborted).toBe(true);
  });

  test('fails with the error of opening the client', async () => {
    const deferred = deferredClient(Promise.reject(new Error('no certificate')));
    await expect(deferred.get(address, signal)).rejects.toThrow('no certificate');
  });
});
