import { once } from 'node:events';
import { connect, createServer } from 'node:tls';
import { describe, expect, it, test } from 'vitest';
import { createAuthority, issueIdentity } from '../pki/certificate.ts';
import { describeError, errorChain, messageOf } from './error-chain.ts';

const caused = (message: string, cause: unknown): Error => new Error(message, { cause });

describe('describeError', () => {
  const root = new Error('no such disk');
  test.each([
    ['an error alone', root, 'no such disk'],
    ['a cause with its own message', caused('cannot mount', root), 'cannot mount: no such disk'],
    [
      'a cause that the message contains already',
      caused('volume "i": no such disk', root),
      'volume "i": no such disk',
    ],
    [
      'one in between that the message contains already',
      caused('volume "i": cannot mount', caused('cannot mount', root)),
      'volume "i": cannot mount: no such disk',
    ],
    ['a cause that is no error', caused('cannot mount', 'text'), 'cannot mount'],
    ['an error without a message', new Error('', { cause: root }), 'no such disk'],
  ])('%s', (_, error, expected) => expect(describeError(error)).toBe(expected));

  it('omits advice on how to start Node', async () => {
    const { promise, resolve } = Promise.withResolvers<Error>();
    const [from, until] = [new Date(Date.now() - 60_000), new Date(Date.now() + 60_000)];
    const authority = createAuthority({ commonName: 'a' }, from, until);
    const { certificate: cert, key } = issueIdentity(authority, {
      subject: { commonName: 'localhost' },
      dnsNames: ['localhost'],
      extendedUsages: ['serverAuth'],
      notBefore: from,
      notAfter: until,
    });
    const server = createServer({ cert, key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    connect({ port, host: '127.0.0.1', servername: 'localhost' }).on('error', resolve);
    const error = await promise;
    server.close();
    expect(describeError(error)).toMatch(/^unable to [a-z ]+$/);
    expect(messageOf(new Error('x; if the root CA is installed locally, try running Node.js with --y'))).toBe(
      'x',
    );
  });

  it('terminates, even for circular causes', () => {
    const first = new Error('first');
    const second = caused('second', first);
    first.cause = second;
    expect(describeError(first)).toBe('first: second');
    expect(errorChain(second).map(({ message }) => message)).toEqual(['second', 'first']);
  });
});
