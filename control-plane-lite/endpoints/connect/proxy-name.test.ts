import { describe, expect, test } from 'vitest';
import { parsePort, parseProxyName } from './proxy-name.ts';

describe('parseProxyName', () => {
  test.each([
    ['web', { scheme: undefined, name: 'web', port: '' }],
    ['web:', { scheme: undefined, name: 'web', port: '' }],
    ['web:80', { scheme: undefined, name: 'web', port: '80' }],
    ['web:http', { scheme: undefined, name: 'web', port: 'http' }],
    ['https:web:', { scheme: 'https', name: 'web', port: '' }],
    ['http:web:80', { scheme: 'http', name: 'web', port: '80' }],
    [':web:80', { scheme: undefined, name: 'web', port: '80' }],
    ['', undefined],
    [':80', undefined],
    ['ftp:web:80', undefined],
    ['http::80', undefined],
    ['a:b:c:d', undefined],
  ])('%s', (text, expected) => {
    expect(parseProxyName(text)).toEqual(expected);
  });
});

describe('parsePort', () => {
  test.each([
    ['1', 1],
    ['65535', 65_535],
    ['0', undefined],
    ['65536', undefined],
    ['', undefined],
    ['http', undefined],
    ['-1', undefined],
    ['1e3', undefined],
  ])('%s', (text, expected) => {
    expect(parsePort(text)).toBe(expected);
  });
});
