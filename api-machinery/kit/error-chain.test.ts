import { describe, expect, it, test } from 'vitest';
import { describeError, errorChain } from './error-chain.ts';

const caused = (message: string, cause: unknown): Error => new Error(message, { cause });

describe('describeError', () => {
  const root = new Error('no such disk');
  test.each([
    ['an error alone', root, 'no such disk'],
    ['a cause with words of its own', caused('cannot mount', root), 'cannot mount: no such disk'],
    ['a cause that is said already', caused('volume "i": no such disk', root), 'volume "i": no such disk'],
    [
      'one in between that is said already',
      caused('volume "i": cannot mount', caused('cannot mount', root)),
      'volume "i": cannot mount: no such disk',
    ],
    ['a cause that is no error', caused('cannot mount', 'text'), 'cannot mount'],
    ['an error without words', new Error('', { cause: root }), 'no such disk'],
  ])('%s', (_, error, expected) => expect(describeError(error)).toBe(expected));

  it('ends, even where causes go round in a circle', () => {
    const first = new Error('first');
    const second = caused('second', first);
    first.cause = second;
    expect(describeError(first)).toBe('first: second');
    expect(errorChain(second).map(({ message }) => message)).toEqual(['second', 'first']);
  });
});
