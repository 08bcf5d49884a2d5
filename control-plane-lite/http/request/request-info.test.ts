import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { StatusError } from '#api/meta/status-error.ts';
import type { RequestInfo } from '../contract.ts';
import { parseRequestInfo, splitTarget } from './request-info.ts';

function parse(method: string, target: string): RequestInfo {
  const { path, query } = splitTarget(target);
  return parseRequestInfo(method, path, query === '' ? undefined : new URLSearchParams(query));
}

const empty = {
  verb: '',
  group: '',
  version: 'v1',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  rest: '',
};
type Row = readonly [method: string, target: string, expected: Partial<typeof empty>];

const resources: readonly Row[] = [
  ['GET', '/api/v1/nodes', { verb: 'list', resource: 'nodes' }],
  ['GET', '/api/v1/nodes/', { verb: 'list', resource: 'nodes' }],
  ['GET', '/api/v1/nodes/n1', { verb: 'get', resource: 'nodes', name: 'n1' }],
  ['HEAD', '/api/v1/nodes/n1', { verb: 'get', resource: 'nodes', name: 'n1' }],
  ['GET', '/api/v1/namespaces', { verb: 'list', resource: 'namespaces' }],
  ['GET', '/api/v1/namespaces/x', { verb: 'get', namespace: 'x', resource: 'namespaces', name: 'x' }],
  [
    'GET',
    '/api/v1/namespaces/x/status',
    { verb: 'get', namespace: 'x', resource: 'namespaces', name: 'x', subresource: 'status' },
  ],
  [
    'PUT',
    '/api/v1/namespaces/x/finalize',
    { verb: 'update', namespace: 'x', resource: 'namespaces', name: 'x', subresource: 'finalize' },
  ],
  ['GET', '/api/v1/namespaces/x/pods', { verb: 'list', namespace: 'x', resource: 'pods' }],
  ['POST', '/api/v1/namespaces/x/pods', { verb: 'create', namespace: 'x', resource: 'pods' }],
  ['GET', '/api/v1/namespaces/x/pods/y', { verb: 'get', namespace: 'x', resource: 'pods', name: 'y' }],
  ['PUT', '/api/v1/namespaces/x/pods/y', { verb: 'update', namespace: 'x', resource: 'pods', name: 'y' }],
  ['PATCH', '/api/v1/namespaces/x/pods/y', { verb: 'patch', namespace: 'x', resource: 'pods', name: 'y' }],
  ['DELETE', '/api/v1/namespaces/x/pods/y', { verb: 'delete', namespace: 'x', resource: 'pods', name: 'y' }],
  ['DELETE', '/api/v1/namespaces/x/pods', { verb: 'deletecollection', namespace: 'x', resource: 'pods' }],
  ['OPTIONS', '/api/v1/namespaces/x/pods', { verb: 'options', namespace: 'x', resource: 'pods' }],
  [
    'GET',
    '/api/v1/namespaces/x/pods/y/log',
    { verb: 'get', namespace: 'x', resource: 'pods', name: 'y', subresource: 'log' },
  ],
  [
    'GET',
    '/api/v1/namespaces/x/pods/y/proxy/a/b',
    { verb: 'get', namespace: 'x', resource: 'pods', name: 'y', subresource: 'proxy', rest: 'a/b' },
  ],
  [
    'GET',
    '/api/v1/namespaces/x/services/https:y:1/proxy/a//b%2Fc/',
    {
      verb: 'get',
      namespace: 'x',
      resource: 'services',
      name: 'https:y:1',
      subresource: 'proxy',
      rest: 'a//b/c/',
    },
  ],
  [
    'GET',
    '/apis/apps/v1/namespaces/x/deployments/d/scale',
    { verb: 'get', group: 'apps', namespace: 'x', resource: 'deployments', name: 'd', subresource: 'scale' },
  ],
  ['GET', '/apis/apps/v1/deployments', { verb: 'list', group: 'apps', resource: 'deployments' }],
  ['GET', '/api/v1/pods?watch=1', { verb: 'watch', resource: 'pods' }],
  ['GET', '/api/v1/pods?watch=true', { verb: 'watch', resource: 'pods' }],
  ['GET', '/api/v1/pods?watch', { verb: 'watch', resource: 'pods' }],
  ['GET', '/api/v1/pods?watch=yes', { verb: 'watch', resource: 'pods' }],
  ['GET', '/api/v1/pods?watch=0', { verb: 'list', resource: 'pods' }],
  ['GET', '/api/v1/pods?watch=False', { verb: 'list', resource: 'pods' }],
  ['GET', '/api/v1/nodes/n?watch=1', { verb: 'watch', resource: 'nodes', name: 'n' }],
  ['POST', '/api/v1/nodes?watch=1', { verb: 'create', resource: 'nodes' }],
  ['GET', '/api/v1/watch/pods', { verb: 'watch', resource: 'pods' }],
  [
    'GET',
    '/api/v1/watch/namespaces/x/pods/y',
    { verb: 'watch', namespace: 'x', resource: 'pods', name: 'y' },
  ],
  ['GET', '/apis/apps/v1/watch/deployments', { verb: 'watch', group: 'apps', resource: 'deployments' }],
  [
    'GET',
    '/api/v1/proxy/namespaces/x/pods/y/a/b',
    { verb: 'proxy', namespace: 'x', resource: 'pods', name: 'y', rest: 'a/b' },
  ],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Dx', { verb: 'list', resource: 'pods', name: 'x' }],
  [
    'GET',
    '/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn,metadata.name%3D%3Dx',
    { verb: 'watch', resource: 'pods', name: 'x' },
  ],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name!%3Dx', { verb: 'list', resource: 'pods' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name%3Da/b', { verb: 'list', resource: 'pods' }],
  ['GET', '/api/v1/pods?fieldSelector=metadata.name', { verb: 'list', resource: 'pods' }],
  ['DELETE', '/api/v1/pods?fieldSelector=metadata.name%3Dx', { verb: 'deletecollection', resource: 'pods' }],
  ['GET', '/api/v1/Pods/A', { verb: 'get', resource: 'Pods', name: 'A' }],
  ['GET', '/api/v1/nodes/a%252e', { verb: 'get', resource: 'nodes', name: 'a%2e' }],
  ['GET', '/api/v1/nodes/%C3%A9', { verb: 'get', resource: 'nodes', name: 'é' }],
  ['GET', 'https://host:6443/api/v1/nodes/n', { verb: 'get', resource: 'nodes', name: 'n' }],
];

const paths: readonly (readonly [method: string, target: string, path: string, verb: string])[] = [
  ['GET', '/', '/', 'get'],
  ['GET', '/api', '/api', 'get'],
  ['GET', '/api/v1', '/api/v1', 'get'],
  ['GET', '/api/v1/', '/api/v1/', 'get'],
  ['GET', '/apis/apps', '/apis/apps', 'get'],
  ['GET', '/apis/apps/v1', '/apis/apps/v1', 'get'],
  ['POST', '/healthz?verbose', '/healthz', 'post'],
  ['GET', '/API/v1/pods', '/API/v1/pods', 'get'],
  ['GET', '/apixx/v1/pods', '/apixx/v1/pods', 'get'],
  ['OPTIONS', '/version', '/version', 'options'],
  ['GET', 'http://host', '/', 'get'],
];

const refused: readonly (readonly [target: string, text: RegExp])[] = [
  ['/api/v1/namespaces/../pods', /segment \.\./],
  ['/api/v1/namespaces/%2e%2E/pods', /segment \.\./],
  ['/api/v1/namespaces/x/pods/./log', /segment \./],
  ['/api/v1/nodes/n/proxy/a/../b', /segment \.\./],
  ['/api/v1/nodes/n%2F..', /segment \.\./],
  ['/api//v1/pods', /empty segment/],
  ['//api/v1/pods', /empty segment/],
  ['/api/v1/namespaces//pods', /empty segment/],
  ['/api/v1/pods//log', /empty segment/],
  ['/healthz//x', /empty segment/],
  ['/api/v1/pods/a%00b', /NUL/],
  ['/api/v1/pods/a%', /escape/],
  ['/api/v1/pods/%ff', /escape/],
  [`/${'a'.repeat(20_000)}`, /longer/],
  ['api/v1/pods', /begin with/],
  ['*', /begin with/],
];

describe('parseRequestInfo', () => {
  test.each(resources)('%s %s names a resource', (method, target, expected) => {
    const { path: _path, isResource, ...info } = parse(method, target);
    expect(isResource).toBe(true);
    expect(info).toEqual({ ...empty, ...expected });
  });

  test.each(paths)('%s %s is of no resource', (method, target, path, verb) => {
    expect(parse(method, target)).toEqual({ ...empty, version: '', isResource: false, path, verb });
  });

  test.each(refused)('%s is refused', (target, text) => {
    const attempt = (): RequestInfo => parse('GET', target);
    expect(attempt).toThrow(StatusError);
    expect(attempt).toThrow(text);
  });

  test('a legacy prefix alone is an ordinary resource of that name only where something follows', () => {
    expect(() => parse('GET', '/api/v1/watch')).toThrow(/no resource/);
    expect(() => parse('GET', '/apis/g/v1/proxy/')).toThrow(/no resource/);
  });

  test('any text is parsed or a BadRequest, and no parsed segment is empty or climbs', () => {
    const unit = fc.constantFrom('/', 'a', '%', '2', 'e', 'f', '.', '?', '=');
    const isSound = (text: string): boolean => {
      try {
        const { isResource, resource, name, namespace } = parse('GET', `/api/v1/${text}`);
        const climbs = [resource, name, namespace].some((part) => part === '.' || part === '..');
        return !climbs && (!isResource || resource !== '');
      } catch (error) {
        return error instanceof StatusError && error.code === 400;
      }
    };
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        expect(isSound(text)).toBe(true);
      }),
    );
  });
});
