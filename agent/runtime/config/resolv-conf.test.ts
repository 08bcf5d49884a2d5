import { expect, test } from 'vitest';
import { parseResolvConf } from './dns.ts';

test.each([
  ['an empty file', '', { servers: [], searches: [], options: [] }],
  [
    'all keywords, comments and odd spacing',
    '# a\n; b\n  nameserver\t192.0.2.1  \nnameserver 2001:db8::1\nsearch a.example b.example\noptions ndots:2 rotate\n',
    {
      servers: ['192.0.2.1', '2001:db8::1'],
      searches: ['a.example', 'b.example'],
      options: ['ndots:2', 'rotate'],
    },
  ],
  ['the last search line', 'search a\nsearch b c\n', { servers: [], searches: ['b', 'c'], options: [] }],
  ['domain as a search of one', 'domain a b\n', { servers: [], searches: ['a'], options: [] }],
  ['trailing dots', 'search a. . b\n', { servers: [], searches: ['a', '.', 'b'], options: [] }],
  ['options of several lines', 'options a\noptions b a', { servers: [], searches: [], options: ['a', 'b'] }],
  ['keywords without a value', 'nameserver\nsearch\n', { servers: [], searches: [], options: [] }],
  ['carriage returns', 'nameserver 192.0.2.1\r\n', { servers: ['192.0.2.1'], searches: [], options: [] }],
])('reads %s', (_, text, expected) => {
  expect(parseResolvConf(text)).toEqual(expected);
});
