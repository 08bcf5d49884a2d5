import { assert, property, string, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { decodeHealthStatus, encodeHealthRequest } from './grpc-health.ts';

test.each([
  ['', []],
  ['db', [0x0a, 2, 0x64, 0x62]],
  ['x'.repeat(300), [0x0a, 0xac, 0x02, ...Array<number>(300).fill(0x78)]],
])('encodes the service %j', (service, bytes) => {
  expect([...encodeHealthRequest(service)]).toEqual(bytes);
});

test.each([
  ['nothing', [], 'UNKNOWN'],
  ['a status', [8, 1], 'SERVING'],
  ['the last of two', [8, 1, 8, 2], 'NOT_SERVING'],
  ['a status of a newer protocol', [8, 9], 'UNKNOWN'],
  [
    'fields of a newer protocol',
    [0x12, 2, 1, 1, 0x18, 5, 0x25, 1, 2, 3, 4, 0x29, 1, 2, 3, 4, 5, 6, 7, 8, 8, 3],
    'SERVICE_UNKNOWN',
  ],
])('decodes %s', (_, bytes, expected) => {
  expect(decodeHealthStatus(Uint8Array.from(bytes))).toBe(expected);
});

test.each([
  ['a number that ends early', [8, 0x80]],
  ['a field that ends early', [0x12, 5, 1]],
  ['a wire type that does not exist', [0x0f]],
  ['a number beyond 64 bits', [8, ...Array<number>(12).fill(0xff), 1]],
])('rejects %s', (_, bytes) => {
  expect(() => decodeHealthStatus(Uint8Array.from(bytes))).toThrow(RangeError);
});

test('any bytes yield a status or a RangeError', () => {
  assert(
    property(uint8Array(), (bytes) => {
      try {
        return typeof decodeHealthStatus(bytes) === 'string';
      } catch (error) {
        return error instanceof RangeError;
      }
    }),
  );
});

test('a request is one field that a message decoder skips', () => {
  assert(property(string(), (service) => decodeHealthStatus(encodeHealthRequest(service)) === 'UNKNOWN'));
});
