/** The dense form of JSON texts: everything that it accepts is restored byte by byte. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromDense, toDense } from './dense-text.ts';

const long = 'x'.repeat(40);

test('every JSON text is restored', () => {
  fc.assert(
    fc.property(
      fc.json({ stringUnit: 'binary' }),
      fc.string({ minLength: 40, unit: 'binary' }),
      (json, text) => {
        const whole = Buffer.from(
          JSON.stringify([JSON.parse(json), text, Buffer.from(text).toString('base64')]),
        );
        const dense = toDense(whole);
        expect(dense && fromDense(dense)).toEqual(whole);
      },
    ),
  );
});

test.each([
  ['between strings', `{"a":\u0001"${long}"}`],
  ['in a short string', '{"a":"\u0002"}'],
  ['in a long string', `{"a":"${long}\u0001${long}"}`],
  ['in a key', `{"\u0000${long}":1}`],
])('a text with a control character %s has no dense form', (_, text) => {
  expect(toDense(Buffer.from(text))).toBeUndefined();
});

test('strings that are not closed, or end in half an escape, are restored', () => {
  for (const text of [`{"a":"${long}`, `{"a":"${long}\\`, `{"a":"${long}\\u12"}`]) {
    const dense = toDense(Buffer.from(text));
    expect(dense && fromDense(dense).toString()).toBe(text);
  }
});
