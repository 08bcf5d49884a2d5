import { describe, expect, test } from 'vitest';
import { type ObjectAddress, type Query, type ResourceAddress, resourcePath } from './resource-path.ts';

describe('resourcePath', () => {
  test.each<[ResourceAddress | ObjectAddress, Query, string]>([
    [{ apiVersion: 'v1', resource: 'nodes' }, {}, '/api/v1/nodes'],
    [
      { apiVersion: 'apps/v1', resource: 'deployments', namespace: 'a' },
      {},
      '/apis/apps/v1/namespaces/a/deployments',
    ],
    [
      { apiVersion: 'v1', resource: 'pods', namespace: 'a', name: 'b', subresource: 'proxy/x y' },
      { dryRun: 'All', force: true, limit: 5, none: undefined },
      '/api/v1/namespaces/a/pods/b/proxy/x%20y?dryRun=All&force=true&limit=5',
    ],
    [{ apiVersion: 'v1', resource: 'nodes', name: 'a/b?c' }, {}, '/api/v1/nodes/a%2Fb%3Fc'],
  ])('of %j with %j is %s', (address, query, expected) => {
    expect(resourcePath(address, query)).toBe(expected);
  });

  test.each(['', '.', '..'])('refuses the name "%s"', (name) => {
    expect(() => resourcePath({ apiVersion: 'v1', resource: 'nodes', name })).toThrow(RangeError);
  });
});
