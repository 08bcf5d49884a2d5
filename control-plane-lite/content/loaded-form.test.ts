/** Large objects are parsed in turns before they are shown, in every representation, alone and in lists. */
import { describe, expect, test } from 'vitest';
import type { CachedObject } from '../cache/contract.ts';
import { LARGE_BYTES } from '../kit/yield.ts';
import type { ApiObject } from '../resources/contract.ts';
import { AS, bytesOf, cachedOf, content, maps, objectOf, PROTOBUF, requestOf } from './content.fixture.ts';

const LARGE: ApiObject = { ...objectOf('large'), data: { a: 'x'.repeat(LARGE_BYTES) } };

/** An object that is not parsed yet: the cache would do so in one piece. */
function unparsed(object: ApiObject): CachedObject & { readonly parsedAtOnce: () => number } {
  let count = 0;
  return {
    ...cachedOf(object),
    object() {
      count += 1;
      return object;
    },
    async load(turn) {
      await turn();
      return object;
    },
    parsedAtOnce: () => count,
  };
}

const OBJECT_TYPES = ['application/json', 'application/yaml', PROTOBUF];
const PRETTY = 'pretty=true';

interface Representation {
  readonly accept: string;
  readonly query?: string;
}

const representations = (partial: string): readonly Representation[] => [
  ...OBJECT_TYPES.map((accept) => ({ accept })),
  { accept: 'application/json', query: PRETTY },
  ...OBJECT_TYPES.map((type) => ({ accept: `${type};as=${partial};${AS}` })),
  { accept: `application/json;as=${partial};${AS}`, query: PRETTY },
  ...['application/json', 'application/yaml'].map((type) => ({ accept: `${type};as=Table;${AS}` })),
  { accept: `application/json;as=Table;${AS}`, query: PRETTY },
  { accept: `application/json;as=Table;${AS}`, query: 'includeObject=Object' },
];

describe('a large object is not parsed in one piece', () => {
  test.each(representations('PartialObjectMetadata'))('alone, as $accept $query', async (one) => {
    const large = unparsed(LARGE);
    const shown = bytesOf(await content.cached(requestOf(one), maps, large));
    expect(large.parsedAtOnce()).toBe(0);
    expect(shown.equals(bytesOf(await content.cached(requestOf(one), maps, cachedOf(LARGE))))).toBe(true);
  });

  test.each(representations('PartialObjectMetadataList'))('in a list, as $accept $query', async (one) => {
    const large = unparsed(LARGE);
    const pageOf = (item: CachedObject) => ({
      items: [cachedOf(objectOf('a')), item, cachedOf(objectOf('z'))],
      revision: 9,
      continue: '',
    });
    const shown = bytesOf(await content.list(requestOf(one), maps, pageOf(large)));
    expect(large.parsedAtOnce()).toBe(0);
    expect(shown.includes('large')).toBe(true);
    expect(shown.equals(bytesOf(await content.list(requestOf(one), maps, pageOf(cachedOf(LARGE)))))).toBe(
      true,
    );
  });
});
