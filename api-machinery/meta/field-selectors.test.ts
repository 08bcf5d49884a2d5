import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { formatFieldSelector, matchesFields, parseFieldSelector } from './field-selectors.ts';
import { SelectorError } from './selectors.ts';

describe('parseFieldSelector', () => {
  const fields = { 'metadata.name': 'a,b=c\\', 'spec.nodeName': '' };
  test.each([
    ['', true],
    ['metadata.name=a\\,b\\=c\\\\', true],
    ['metadata.name==x', false],
    ['metadata.name!=x,spec.nodeName=', true],
    ['absent=', true],
    ['absent!=x', true],
  ])('%s is %s', (text, expected) => {
    expect(matchesFields(parseFieldSelector(text), fields)).toBe(expected);
  });

  test.each(['a', '=a', 'a=b=c', 'a=\\x', 'a=b\\', '!a=b'])('rejects %j', (text) => {
    expect(() => parseFieldSelector(text)).toThrow(SelectorError);
  });

  it('parses its own output', () => {
    const requirement = fc.record({
      field: fc.constantFrom('metadata.name', 'spec.x'),
      equal: fc.boolean(),
      value: fc.stringMatching(/^[a\\,=!]{0,6}$/),
    });
    fc.assert(
      fc.property(fc.array(requirement), (list) => {
        expect(parseFieldSelector(formatFieldSelector(list))).toEqual(list);
      }),
    );
  });
});
