import { expect, test } from 'vitest';
import { isFromForeignPage } from './origin.ts';

test.each([
  ['no page', undefined, 'api.example:6443', false],
  ['a page of the server', 'https://api.example:6443', 'api.example:6443', false],
  ['a page of the server, written otherwise', 'https://API.example', 'api.example:443', false],
  ['a page of the server by its address', 'https://[::1]:6443', '[::1]:6443', false],
  ['tests of the field', 'http://localhost', '127.0.0.1:6443', false],
  ['another page', 'https://evil.example', 'api.example:6443', true],
  ['another port', 'https://api.example', 'api.example:6443', true],
  ['a page that was not safe on its way', 'http://api.example:6443', 'api.example:6443', true],
  ['a longer name', 'https://api.example.evil.example:6443', 'api.example:6443', true],
  ['a name in front', 'https://api.example:6443@evil.example', 'api.example:6443', true],
  ['a local page', 'http://localhost:8080', '127.0.0.1:6443', true],
  ['a page that is not named', 'null', 'api.example:6443', true],
  ['nothing', '', 'api.example:6443', true],
  ['no host', 'https://evil.example', undefined, true],
  ['no host but the same', 'https://', undefined, true],
])('%s', (_name, origin, host, expected) => {
  expect(isFromForeignPage(origin, host)).toBe(expected);
});
