import { describe, expect, test } from 'vitest';
import type { Json } from '../client.ts';
import { ApiRequestError } from '../errors.ts';
import type { Query } from '../resource-path.ts';
import { ListFormatError, listAll } from './list-all.ts';

const address = { apiVersion: 'v1', resource: 'pods' };
const { signal } = new AbortController();

/** Responses of a server by the requested continue token. */
const serving = (pages: Readonly<Record<string, Json | Error>>) => {
  const asked: Query[] = [];
  const list = async (_address: unknown, _signal: unknown, query: Query = {}): Promise<Json> => {
    asked.push(query);
    const page = pages[query['limit'] === undefined ? 'whole' : String(query['continue'] ?? 'first')];
    if (page === undefined || page instanceof Error) throw page ?? new Error('not requested in this test');
    return page;
  };
  return { client: { list }, asked };
};

const page = (names: readonly string[], next = ''): Json => ({
  metadata: { resourceVersion: '7', continue: next },
  items: names.map((name) => ({ metadata: { name } })),
});

describe('listAll', () => {
  test('joins the pages', async () => {
    const { client } = serving({ first: page(['a'], 'x'), x: page(['b'], 'y'), y: page(['c']) });
    const { items, resourceVersion } = await listAll(client, address, {}, signal);
    expect(items.map(({ metadata }) => metadata)).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    expect(resourceVersion).toBe('7');
  });

  test('reads all in one request when the continue token expires', async () => {
    const gone = new ApiRequestError({ status: 410, reason: 'Expired', message: 'gone' });
    const { client } = serving({ first: page(['a'], 'x'), x: gone, whole: page(['d', 'e']) });
    expect((await listAll(client, address, {}, signal)).items).toHaveLength(2);
  });

  test('does not page a list of any version', async () => {
    const { client, asked } = serving({ whole: page(['a']) });
    await listAll(client, address, { resourceVersion: '0' }, signal);
    expect(asked).toEqual([{ resourceVersion: '0' }]);
  });

  test('rejects anything but a list', async () => {
    const { client } = serving({ first: { kind: 'Pod' } });
    await expect(listAll(client, address, {}, signal)).rejects.toThrow(ListFormatError);
  });
});
