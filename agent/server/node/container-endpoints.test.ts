import { describe, expect, test } from 'vitest';
import { portsOf, streamsOf } from './container-endpoints.ts';

const query = (text: string): URLSearchParams => new URLSearchParams(text);

describe('streamsOf', () => {
  test.each([
    ['output=1', [false, true, false, false]],
    ['input=1&output=1&error=1', [true, true, true, false]],
    // A terminal has one output.
    ['input=1&output=1&error=1&tty=1', [true, true, false, true]],
    ['stdout=true&stderr=true', [false, true, true, false]],
    ['output=0&error=1', [false, false, true, false]],
  ])('%s', (text, expected) => {
    const { stdin, stdout, stderr, tty } = streamsOf(query(text));
    expect([stdin, stdout, stderr, tty]).toEqual(expected);
  });

  test.each(['', 'tty=1', 'tty=1&error=1', 'output=0'])('refuses %j', (text) => {
    expect(() => streamsOf(query(text))).toThrow('at least 1 of stdin, stdout, stderr');
  });
});

describe('portsOf', () => {
  test.each([
    ['', []],
    ['port=80', [80]],
    ['port=80,81&port=65535', [80, 81, 65_535]],
  ])('%s', (text, expected) => {
    expect(portsOf(query(text))).toEqual(expected);
  });

  test.each(['port=', 'port=0', 'port=65536', 'port=http', 'port=80,'])('rejects %s', (text) => {
    expect(() => portsOf(query(text))).toThrow('is not a number from 1 to 65535');
  });
});
