import { array, assert, constantFrom, dictionary, jsonValue, property, record, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJsonInSteps } from './json-list.ts';
import { parseJsonText } from './json-text.ts';

/** Long enough to be parsed in steps. */
const FILLER = 'x'.repeat(300 * 1024);

function run(text: string): { readonly value: unknown; readonly steps: number } {
  const reading = parseJsonInSteps(Buffer.from(text));
  let steps = 0;
  for (;;) {
    const next = reading.next();
    if (next.done === true) return { value: next.value, steps };
    steps += 1;
  }
}

describe('parseJsonInSteps', () => {
  test('returns the result of reading it at once, however the text is laid out', () => {
    const object = dictionary(string(), jsonValue(), { maxKeys: 4 });
    const list = record({ kind: string(), items: array(object, { maxLength: 40 }), metadata: object });
    assert(
      property(list, constantFrom(undefined, 1, '\t'), (value, indent) => {
        const text = JSON.stringify({ ...value, filler: FILLER }, undefined, indent);
        expect(run(text).value).toEqual(parseJsonText(text));
      }),
    );
  });

  test.each([
    ['items that are no objects', `{"items":[1,"]",{}],"a":"${FILLER}"}`],
    ['items that are no list', `{"items":{"a":[]},"b":"${FILLER}"}`],
    ['items twice', `{"items":[{"a":1}],"items":[{"b":2}],"c":"${FILLER}"}`],
    [
      'items of something else',
      `{"metadata":{"items":[{}]},"kind":"items","c":["items",{}],"d":"${FILLER}"}`,
    ],
    ['a list alone', `[{"items":[{}]},"${FILLER}"]`],
    ['an escaped quote', `{"items":[{"a":"\\"]}"},{"b":"\\\\"}],"c":"${FILLER}"}`],
  ])('%s', (_what, text) => {
    expect(run(text).value).toEqual(JSON.parse(text));
  });

  test.each([
    ['without a comma', `{"items":[{} {}],"a":"${FILLER}"}`],
    ['with a comma too many', `{"items":[{},],"a":"${FILLER}"}`],
    ['with a bracket that fits another', `{"items":[{"a":[}],"a":"${FILLER}"}`],
    ['cut off', `{"a":"${FILLER}","items":[{},{"b"`],
    ['with more after it', `{"a":"${FILLER}","items":[{}]}}`],
  ])('refuses a list %s', (_what, text) => {
    expect(() => run(text)).toThrow(SyntaxError);
  });

  test('has a step for every few items', () => {
    const items = Array.from({ length: 1000 }, (_, name) => ({ name, filler: 'x'.repeat(500) }));
    expect(run(JSON.stringify({ items })).steps).toBeGreaterThan(50);
  });
});
