import { describe, expect, test } from 'vitest';
import { requestFor } from '../discovery/discovery.fixture.ts';
import { createDocumentStore, type DocumentStore, type Wanted } from './store.ts';

const REQUEST = requestFor('/');
const text = async (store: DocumentStore, wanted: Wanted): Promise<string> => {
  const { body } = await store.respond(REQUEST, wanted);
  return Buffer.isBuffer(body) ? body.toString() : Buffer.concat(body).toString();
};

describe('a document store', () => {
  test('makes one document after the other', async () => {
    const store = createDocumentStore();
    const steps: string[] = [];
    const wanted = (key: string): Wanted => ({
      key,
      hash: key,
      contentType: 'text/plain',
      *make() {
        steps.push(`${key} begins`);
        yield key;
        steps.push(`${key} ends`);
      },
    });
    expect(await Promise.all(['a', 'b', 'c'].map((key) => text(store, wanted(key))))).toEqual([
      'a',
      'b',
      'c',
    ]);
    expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });

  test('tries again what failed, and lets others be made', async () => {
    const store = createDocumentStore();
    let tries = 0;
    const wanted: Wanted = {
      key: 'a',
      hash: 'a',
      contentType: 'text/plain',
      make() {
        tries += 1;
        if (tries === 1) throw new Error('not now');
        return ['made'];
      },
    };
    const [failed, other] = await Promise.allSettled([
      text(store, wanted),
      text(store, { ...wanted, key: 'b', make: () => ['other'] }),
    ]);
    expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'not now' } });
    expect(other).toMatchObject({ value: 'other' });
    expect(await text(store, wanted)).toBe('made');
  });

  test('forgets what it is not to keep', async () => {
    const store = createDocumentStore();
    let made = 0;
    const wanted = (key: string): Wanted => ({
      key,
      hash: 'same',
      contentType: 'text/plain',
      make() {
        made += 1;
        return [key];
      },
    });
    await text(store, wanted('a'));
    await text(store, wanted('b'));
    store.retain(new Set(['a']));
    expect(made).toBe(2);
    await text(store, wanted('a'));
    expect(made).toBe(2);
    await text(store, wanted('b'));
    expect(made).toBe(3);
  });
});
