import { describe, expect, test } from 'vitest';
import { attributesOf } from './attributes.ts';

describe('attributesOf', () => {
  test.each([
    ['GET', '/stats', 'get', 'stats'],
    ['GET', '/stats/summary', 'get', 'stats'],
    ['POST', '/stats/container', 'create', 'stats'],
    ['GET', '/statsbogus', 'get', 'proxy'],
    ['GET', '/metrics', 'get', 'metrics'],
    ['GET', '/metrics/resource', 'get', 'metrics'],
    ['GET', '/logs/', 'get', 'log'],
    ['GET', '/logs/messages', 'get', 'log'],
    ['GET', '/spec', 'get', 'spec'],
    ['POST', '/exec/ns/pod/c', 'create', 'proxy'],
    ['GET', '/containerLogs/ns/pod/c', 'get', 'proxy'],
    ['PUT', '/x', 'update', 'proxy'],
    ['PATCH', '/x', 'patch', 'proxy'],
    ['DELETE', '/x', 'delete', 'proxy'],
    ['HEAD', '/healthz', '', 'proxy'],
    // Paths that match no subresource.
    ['GET', '//stats', 'get', 'proxy'],
    ['GET', '/Stats', 'get', 'proxy'],
  ])('%s %s', (method, path, verb, subresource) => {
    expect(attributesOf(method, path)).toEqual({ verb, subresource });
  });
});
