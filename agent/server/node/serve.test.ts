import { describe, expect, test } from 'vitest';
import { findEndpoint, text } from './endpoint.ts';
import { runsNodeServer } from './runs.ts';
import { readTarget } from './serve.ts';

describe('readTarget', () => {
  test.each([
    ['/', [''], '/'],
    ['/pods?x=1', ['pods'], '/pods'],
    ['/logs/a%20b', ['logs', 'a b'], '/logs/a b'],
    ['//stats', ['', 'stats'], '//stats'],
    ['/runningpods/', ['runningpods', ''], '/runningpods/'],
  ])('%s', (target, parts, path) => {
    expect(readTarget(target)).toMatchObject({ parts, path });
  });

  test.each(['', 'http://x/', '*', '/%', '/a/../b', '/a/%2e%2e/b', '/.', '/a%2Fb', '/logs%2f..', '/%00'])(
    'refuses %j',
    (target) => {
      expect(() => readTarget(target)).toThrow('the request target');
    },
  );
});

describe('findEndpoint', () => {
  const endpoints = ['metrics', 'stats/summary', 'debug', 'debug/pprof'].map((name) => ({
    name,
    methods: ['GET'],
    handle: () => text(name),
  }));

  test.each([
    ['metrics', 'metrics', []],
    ['metrics/resource', 'metrics', ['resource']],
    ['stats/summary', 'stats/summary', []],
    ['debug/pprof/heap', 'debug/pprof', ['heap']],
    ['debug/flags', 'debug', ['flags']],
  ])('%s', (path, name, rest) => {
    expect(findEndpoint(endpoints, path.split('/'))).toMatchObject({ endpoint: { name }, rest });
  });

  test.each(['', 'metric', 'stats', 'x/metrics'])('finds nothing for %j', (path) => {
    expect(findEndpoint(endpoints, path.split('/'))).toBeUndefined();
  });
});

describe('runsNodeServer', () => {
  const given = new Map([['port', { kind: 'flag', flag: '--port' } as const]]);
  const nothing = new Map([['port', { kind: 'default' } as const]]);

  test.each([
    ['a member', true, nothing, true, true],
    ['a joined node that disables it', false, nothing, true, false],
    ['a standalone node', true, nothing, false, false],
    ['a standalone node with a port', true, given, false, true],
    ['a standalone node that disables it', false, given, false, false],
  ])('%s', (_, enableServer, origins, isJoined, expected) => {
    expect(runsNodeServer({ enableServer }, origins, isJoined)).toBe(expected);
  });
});
