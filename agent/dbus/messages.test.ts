import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeMessage } from './read.ts';
import { encodeCall } from './write.ts';

const CALL = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
  member: 'Hello',
};

describe('encodeCall', () => {
  test('matches the specification', () => {
    const bytes = encodeCall(CALL, 1);
    // Little-endian, method call, no flags, version 1, no body, serial 1, 109 bytes of fields; path first, as
    // an object path.
    expect(bytes.subarray(0, 24).toString('hex')).toBe(
      ['6c010001', '00000000', '01000000', '6d000000', '01016f00', '15000000'].join(''),
    );
    expect(bytes).toHaveLength(128);
  });

  test('round-trips any content', () => {
    const body = fc.record({
      a: fc.string(),
      b: fc.boolean(),
      i: fc.integer(),
      member: fc.string({ minLength: 1 }),
    });
    fc.assert(
      fc.property(body, ({ a, b, i, member }) => {
        const bytes = encodeCall({ ...CALL, member, signature: 'sbis', body: [a, b, i, 'end'] }, 7);
        const read = decodeMessage(bytes);
        expect(read?.length).toBe(bytes.length);
        expect(read?.message).toMatchObject({ type: 'call', serial: 7, member, body: [a, b, i, 'end'] });
      }),
    );
  });
});

describe('decodeMessage', () => {
  const whole = encodeCall({ ...CALL, signature: 's', body: ['text'] }, 2);

  test('waits for missing bytes', () => {
    const cuts = Array.from({ length: whole.length }, (_, index) => whole.subarray(0, index));
    expect(cuts.every((cut) => decodeMessage(cut) === undefined)).toBe(true);
    expect(decodeMessage(Buffer.concat([whole, whole]))?.length).toBe(whole.length);
  });

  test('reads a nested variant, 64-bit and big-endian', () => {
    const body = Buffer.from(['0174000000000000', '00000000004c4b40'].join(''), 'hex');
    const fields = Buffer.from(['05017500', '00000009', '08016700', '01760000'].join(''), 'hex');
    const header = Buffer.from(['42020001', '00000010', '00000003', '0000000f'].join(''), 'hex');
    const read = decodeMessage(Buffer.concat([header, fields, body]));
    expect(read?.message).toMatchObject({ type: 'return', replySerial: 9, body: [5_000_000n] });
  });

  test.each([
    ['is too long', () => Buffer.from('6c010001ffffff7f0100000000000000', 'hex'), 'too long'],
    ['is of no type', () => Buffer.from('6c090001000000000100000000000000', 'hex'), 'type 9'],
  ])('rejects what %s', (_, bytes, message) => {
    expect(() => decodeMessage(bytes())).toThrow(message);
  });
});
