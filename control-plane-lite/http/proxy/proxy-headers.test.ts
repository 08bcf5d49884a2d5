import { describe, expect, test } from 'vitest';
import { type ForwardOptions, requestHeaders, responseHeaders } from './proxy-headers.ts';

const options: ForwardOptions = { host: 'target:1', set: {}, remoteAddress: '' };

describe('requestHeaders', () => {
  test.each([
    [
      'retains the headers for the target, in their order',
      ['A', '1', 'B', '2', 'A', '3'],
      ['A', '1', 'B', '2', 'A', '3'],
    ],
    ['drops hop headers', ['TE', 'x', 'Keep-Alive', 'x', 'Transfer-Encoding', 'chunked', 'Upgrade', 'x'], []],
    [
      'drops what the client declares to be for one hop',
      ['Connection', 'close, X-Hop', 'x-hop', '1', 'X-On', '1'],
      ['X-On', '1'],
    ],
    [
      'drops credentials and claimed identities',
      ['Authorization', 'x', 'Impersonate-Group', 'x', 'X-Remote-Extra-a', 'x', 'Proxy-Authorization', 'x'],
      [],
    ],
    ['drops what belongs to HTTP/2', [':path', '/', 'cookie', 'a=b'], ['cookie', 'a=b']],
    ['drops the host of the original request', ['Host', 'api'], []],
    ['drops subprotocols, of which one may hold a token', ['Sec-WebSocket-Protocol', 'x'], []],
  ])('%s', (_name, raw, expected) => {
    expect(requestHeaders(raw, options)).toEqual([...expected, 'Host', 'target:1']);
  });

  test('sets the given headers instead of those that the client sent', () => {
    const set = { 'X-Remote-User': 'api', Accept: 'text/plain' };
    expect(requestHeaders(['accept', 'x', 'x-remote-user', 'eve'], { ...options, set })).toEqual([
      'Host',
      'target:1',
      'x-remote-user',
      'api',
      'accept',
      'text/plain',
    ]);
  });

  test('adds where the request comes from', () => {
    const headers = requestHeaders(['X-Forwarded-For', '1.1.1.1'], { ...options, remoteAddress: '2.2.2.2' });
    expect(headers).toEqual(['Host', 'target:1', 'X-Forwarded-For', '1.1.1.1, 2.2.2.2']);
  });

  test('requests the change of protocol and the remaining subprotocols', () => {
    const headers = requestHeaders([], { ...options, upgrade: 'websocket', protocols: ['a', 'b'] });
    expect(headers.slice(2)).toEqual([
      'Sec-WebSocket-Protocol',
      'a, b',
      'Connection',
      'Upgrade',
      'Upgrade',
      'websocket',
    ]);
  });
});

describe('responseHeaders', () => {
  test('drops hop headers and the audit ID of the target', () => {
    expect(responseHeaders(['Connection', 'close', 'audit-id', 'x', 'Set-Cookie', 'a'], 'mine')).toEqual([
      'Set-Cookie',
      'a',
      'Audit-Id',
      'mine',
    ]);
  });
});
