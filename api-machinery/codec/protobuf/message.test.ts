/** The codec with handwritten bytes and tables; cri-proto tests it with the pinned tables against another
 *  implementation. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ProtobufError } from './error.ts';
import { createMessageTypes } from './message.ts';
import { DEFAULT_READER_LIMITS } from './reader.ts';
import type { ProtoTable } from './table.ts';

const TABLE: ProtoTable = {
  protoPackage: 'test',
  messages: {
    Node: {
      $since: '1.0',
      name: { number: 1, type: 'string' },
      child_node: { number: 2, type: 'Node' },
      numbers: { number: 3, type: 'int32', repeated: true },
      labels: { number: 4, type: 'string', map: 'string' },
      color: { number: 5, type: 'Color' },
      size: { number: 6, type: 'int64' },
      limit: { number: 7, type: 'uint32', optional: true },
      text: { number: 8, type: 'string', oneof: 'choice' },
      number: { number: 9, type: 'int32', oneof: 'choice' },
      by_name: { number: 10, type: 'Node', map: 'string' },
      blob: { number: 11, type: 'bytes' },
      ratio: { number: 12, type: 'double' },
      small: { number: 13, type: 'float' },
      ready: { number: 14, type: 'bool' },
    },
    Outer: { inner: { number: 1, type: 'Inner' }, list: { number: 2, type: 'Inner', repeated: true } },
    'Outer.Inner': { kind: { number: 1, type: 'Kind' } },
    Broken: { field: { number: 1, type: 'Nowhere' } },
    BadMap: { field: { number: 1, type: 'string', map: 'int32' } },
  },
  enums: { Color: { RED: 0, GREEN: 1, $remark: 'x', LIME: 1 }, 'Outer.Kind': { NONE: 0, SOME: 7 } },
};

const types = createMessageTypes(TABLE);
const node = types.type('Node');
const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const EMPTY = {
  name: '',
  childNode: undefined,
  numbers: [],
  labels: {},
  color: 'RED',
  size: 0n,
  limit: undefined,
  text: undefined,
  number: undefined,
  byName: {},
  blob: new Uint8Array(0),
  ratio: 0,
  small: 0,
  ready: false,
};

describe('decode', () => {
  test('gives absent fields their zero, and nothing to absent messages', () => {
    expect(node.decode(new Uint8Array(0))).toStrictEqual(EMPTY);
  });

  test.each([
    ['a list that is packed', '1a 03 01 02 03', { numbers: [1, 2, 3] }],
    ['a list that is not packed', '18 01 18 02', { numbers: [1, 2] }],
    ['a list that is both', '1a 01 01 18 02', { numbers: [1, 2] }],
    ['a negative number of ten bytes', '18 ff ff ff ff ff ff ff ff ff 01', { numbers: [-1] }],
    ['a long number cut to 32 bits', '18 81 80 80 80 10', { numbers: [1] }],
    ['a negative 64-bit number', '30 ff ff ff ff ff ff ff ff ff 01', { size: -1n }],
    ['a number beyond 2^53', '30 81 80 80 80 80 80 80 80 40', { size: 2n ** 62n + 1n }],
    ['an enum by its first name', '28 01', { color: 'GREEN' }],
    ['an enum of a newer peer', '28 09', { color: '9' }],
    ['a negative enum', '28 ff ff ff ff ff ff ff ff ff 01', { color: '-1' }],
    ['an optional zero', '38 00', { limit: 0 }],
    ['the last of a oneof', '42 01 61 48 05', { number: 5 }],
    ['a map entry without value', '22 03 0a 01 61', { labels: { a: '' } }],
    ['a map entry without key', '22 03 12 01 61', { labels: { '': 'a' } }],
    ['a map entry with an unknown field', '22 05 0a 01 61 18 01', { labels: { a: '' } }],
    ['a map key that comes twice', '22 06 0a 01 61 12 01 62 22 06 0a 01 61 12 01 63', { labels: { a: 'c' } }],
    ['a map entry without message', '52 03 0a 01 61', { byName: { a: EMPTY } }],
    [
      'a message that comes twice',
      '12 03 0a 01 61 12 02 30 05',
      { childNode: { ...EMPTY, name: 'a', size: 5n } },
    ],
    ['text that is no UTF-8', '0a 02 61 ff', { name: 'a\u{fffd}' }],
    ['a bool of another number', '70 80 80 80 80 10', { ready: true }],
  ])('reads %s', (_, hex, expected) => {
    expect(node.decode(bytesOf(hex))).toStrictEqual({ ...EMPTY, ...expected });
  });

  test.each([
    ['a varint', 'a0 06 01'],
    ['eight bytes', 'a1 06 01 02 03 04 05 06 07 08'],
    ['a value with a length', 'a2 06 02 61 62'],
    ['a group with a group', 'a3 06 0b 08 01 0c a4 06'],
    ['four bytes', 'a5 06 01 02 03 04'],
  ])('passes over %s of an unknown field', (_, hex) => {
    expect(node.decode(bytesOf(`${hex} 0a 01 61`))).toStrictEqual({ ...EMPTY, name: 'a' });
  });

  test.each([
    ['Truncated', '0a 05 61'],
    ['Truncated', '18'],
    ['Truncated', '18 80'],
    ['Truncated', '12 02 0a'],
    ['Truncated', '12 03 0a 05 61 62 63'],
    ['Truncated', '61 00 00'],
    ['Truncated', '1a 02 01 80'],
    ['Truncated', 'a3 06 08'],
    ['Malformed', '08 01'],
    ['Malformed', '1d 00 00 00 00'],
    ['Malformed', '02 01'],
    ['Malformed', 'a6 06'],
    ['Malformed', 'a4 06'],
    ['Malformed', 'a3 06 ac 06'],
    ['Malformed', '18 ff ff ff ff ff ff ff ff ff ff 01'],
    ['Malformed', '0a ff ff ff ff ff ff ff ff ff 01'],
  ])('refuses as %s: %s', (reason, hex) => {
    expect(() => node.decode(bytesOf(hex))).toThrow(
      expect.objectContaining({ name: 'ProtobufError', reason }),
    );
  });

  test('names the path of the field at error', () => {
    const decode = (): unknown => node.decode(bytesOf('12 04 12 02 30 80'));
    expect(decode).toThrow(expect.objectContaining({ path: 'childNode.childNode.size' }));
  });

  test('refuses messages and groups nested too deep', () => {
    const nested = (depth: number): Uint8Array => {
      let bytes = Buffer.alloc(0);
      for (let i = 0; i < depth; i += 1) {
        bytes = Buffer.concat([Buffer.from([0x12]), varint(bytes.length), bytes]);
      }
      return bytes;
    };
    expect(() => node.decode(nested(100))).not.toThrow('nested');
    expect(() => node.decode(nested(101))).toThrow('nested deeper than 100');
    expect(() => node.decode(Buffer.from('a306'.repeat(200), 'hex'))).toThrow('nested deeper than 100');
  });

  test('refuses too many bytes and too many messages', () => {
    const small = createMessageTypes(TABLE, { ...DEFAULT_READER_LIMITS, maxBytes: 10, maxMessages: 3 });
    expect(() => small.type('Node').decode(new Uint8Array(11))).toThrow('11 bytes, at most 10 allowed');
    expect(() => small.type('Outer').decode(bytesOf('12 00 12 00'))).not.toThrow('messages');
    expect(() => small.type('Outer').decode(bytesOf('12 00 12 00 12 00'))).toThrow('more than 3 messages');
  });

  test('ends random bytes with a message or a ProtobufError', () => {
    const random = fc.uint8Array({ maxLength: 60 });
    fc.assert(
      fc.property(random, (bytes) => {
        const outcome = outcomeOf(() => node.decode(bytes));
        expect(outcome instanceof ProtobufError || !(outcome instanceof Error)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('does not keep the input alive or see later changes of it', () => {
    const input = bytesOf('5a 02 01 02');
    const { blob } = node.decode(input);
    input.fill(9);
    expect(blob).toStrictEqual(new Uint8Array([1, 2]));
  });

  test('tells map keys apart that share length, middle and end', () => {
    const labels = { 'ab-x-yz': '1', 'cb-x-yz': '2', 'ab-x-yy': '3', ñb: '4', é: '5' };
    for (let i = 0; i < 3; i += 1) {
      expect(node.decode(node.encode({ labels }))).toStrictEqual({ ...EMPTY, labels });
    }
    expect(() => node.decode(bytesOf('22 03 0a 09 61'))).toThrow(ProtobufError);
  });

  test('works on again after an error', () => {
    expect(() => node.decode(bytesOf('12 04 12 02 30 80'))).toThrow(ProtobufError);
    expect(() => node.encode({ name: 'ok', labels: { a: 5 } })).toThrow(ProtobufError);
    expect(node.decode(node.encode({ name: 'ok' }))).toStrictEqual({ ...EMPTY, name: 'ok' });
  });
});

describe('encode', () => {
  test.each([
    ['leaves zeros out', { name: '', numbers: [], size: 0n, color: 'RED', ready: false, ratio: 0 }, ''],
    ['leaves null out', { name: null, childNode: null }, ''],
    ['writes an empty message', { childNode: {} }, '1200'],
    ['writes an optional zero', { limit: 0 }, '3800'],
    ['writes a zero of a oneof', { text: '' }, '4200'],
    ['writes minus zero', { ratio: -0 }, '610000000000000080'],
    ['writes list elements that are zero', { numbers: [0, 1] }, '1a020001'],
    ['writes map entries whole', { labels: { '': '' } }, '22040a001200'],
    ['takes a safe number for 64 bits', { size: -1 }, '30ffffffffffffffffff01'],
    ['takes an enum that has no name here', { color: '300' }, '28ac02'],
    ['takes either name of an enum', { color: 'LIME' }, '2801'],
    ['writes fields in order of their numbers', { size: 1n, name: 'a' }, '0a01613001'],
    ['ignores unknown members', { nope: 1 }, ''],
    ['writes a float', { small: 1.5 }, '6d0000c03f'],
  ])('%s', (_, message, expected) => {
    expect(hexOf(node.encode(message))).toBe(expected);
  });

  test.each([
    [{ name: 1 }, 'name: expected string, got number 1'],
    [{ childNode: 'x' }, 'childNode: expected object, got string'],
    [{ numbers: [1, 1.5] }, 'numbers[1]: expected int32, got number 1.5'],
    [{ numbers: 1 }, 'numbers: expected list, got number'],
    [{ labels: { a: 1 } }, 'labels["a"]: expected string, got number 1'],
    [{ labels: 'x' }, 'labels: expected map, got string'],
    [{ color: 'BLUE' }, 'color: expected a value of Color, got string'],
    [{ color: '99999999999' }, 'color: expected a value of Color, got string'],
    [{ size: 0.5 }, 'size: expected int64, got number 0.5'],
    [{ size: 2n ** 63n }, 'size: expected int64, got bigint 9223372036854775808'],
    [{ limit: -1 }, 'limit: expected uint32, got number -1'],
    [{ byName: { a: { childNode: { name: [] } } } }, 'byName["a"].childNode.name: expected string, got list'],
    [{ blob: 'x' }, 'blob: expected bytes, got string'],
    [{ ready: 1 }, 'ready: expected bool, got number 1'],
  ])('refuses %o', (message, expected) => {
    expect(() => node.encode(message)).toThrow(
      expect.objectContaining({ reason: 'InvalidValue', message: expected }),
    );
  });

  test('never shows the value of a text at error', () => {
    expect(() => node.encode({ color: 'secret' })).not.toThrow('secret');
  });

  test('writes lengths of every size', () => {
    for (const length of [0, 1, 39, 40, 41, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152]) {
      const message = { childNode: { name: 'x'.repeat(length) } };
      expect(node.decode(node.encode(message))).toStrictEqual({
        ...EMPTY,
        childNode: { ...EMPTY, ...message.childNode },
      });
    }
  });

  test('keeps a map key named __proto__', () => {
    const labels: unknown = JSON.parse('{"__proto__":"x"}');
    expect(hexOf(node.encode({ labels: labels as object }))).toBe('220e0a095f5f70726f746f5f5f120178');
    expect(JSON.stringify(node.decode(node.encode({ labels: labels as object }))['labels'])).toBe(
      '{"__proto__":"x"}',
    );
  });
});

describe('type', () => {
  test('finds nested types from the inside out', () => {
    const outer = types.type('Outer');
    const message = { inner: { kind: 'SOME' }, list: [{ kind: 'NONE' }] };
    expect(outer.decode(outer.encode(message))).toStrictEqual(message);
  });

  test.each(['Absent', 'Broken', 'BadMap'])('refuses %s', (name) => {
    expect(() => types.type(name).encode({})).toThrow(expect.objectContaining({ reason: 'UnknownType' }));
  });
});

/** Source: project facts, "Encodings" of API objects. */
describe('the rules of API objects', () => {
  const api = createMessageTypes({
    protoPackage: 'api',
    syntax: 'proto2',
    messages: {
      Spec: {
        name: { number: 1, type: 'string' },
        ports: { number: 2, type: 'int32', repeated: true },
        labels: { number: 3, type: 'string', map: 'string' },
        meta: { number: 4, type: 'Meta' },
        grace: { number: 5, type: 'int64', optional: true },
        raw: { number: 6, type: 'bytes' },
        owner: { number: 7, type: 'Meta', optional: true },
      },
      Meta: { uid: { number: 1, type: 'string' } },
    },
  }).type('Spec');

  test.each([
    ['writes scalars and messages always, pointers and bytes when set', {}, '0a0022020a00'],
    ['writes numbers one by one', { ports: [1, 2] }, '0a001001100222020a00'],
    ['sorts map keys', { labels: { b: '', a: '' } }, '0a001a050a016112001a050a0162120022020a00'],
    ['writes a pointer to zero', { grace: 0n, owner: {} }, '0a0022020a0028003a020a00'],
    ['writes empty bytes', { raw: new Uint8Array(0) }, '0a0022020a003200'],
  ])('%s', (_, message, expected) => {
    expect(hexOf(api.encode(message))).toBe(expected);
  });
});

function outcomeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
