import { expect, test } from 'vitest';
import type { ApiClient } from './client.ts';
import { pacedClient } from './paced-client.ts';

const POD = { apiVersion: 'v1', resource: 'pods', namespace: 'a', name: 'p' } as const;
const signal = new AbortController().signal;

/** A client that records its requests. */
function recorder(calls: string[]): ApiClient {
  const note = (name: string) => () => {
    calls.push(name);
    return Promise.resolve({});
  };
  return {
    namespace: 'a',
    get: note('get'),
    list: note('list'),
    create: note('create'),
    update: note('update'),
    patch: note('patch'),
    delete: note('delete'),
    async *watch() {
      calls.push('watch');
      yield* [];
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

const CALLS: readonly (readonly [string, (client: ApiClient) => Promise<unknown>])[] = [
  ['get', (client) => client.get(POD, signal)],
  ['list', (client) => client.list(POD, signal)],
  ['create', (client) => client.create(POD, {}, signal)],
  ['update', (client) => client.update(POD, {}, signal)],
  ['patch', (client) => client.patch(POD, { type: 'merge', content: {} }, signal)],
  ['delete', (client) => client.delete(POD, signal)],
  ['watch', (client) => client.watch(POD, signal).next()],
];

test.each(CALLS)('%s waits its turn', async (name, call) => {
  const calls: string[] = [];
  const turn = Promise.withResolvers<void>();
  const paced = pacedClient(recorder(calls), () => turn.promise);
  const done = call(paced);
  await Promise.resolve();
  expect(calls).toEqual([]);
  turn.resolve();
  await done;
  expect(calls).toEqual([name]);
});
