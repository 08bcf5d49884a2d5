import { describe, expect, it } from 'vitest';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import type { ApiRequest, ApiResponse, BytesResponse } from '../http/contract.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { Resource } from '../resources/contract.ts';
import { createResourceRegistry, type ResourceRegistry } from '../resources/registry.ts';
import { customResource, requestFor, routeOf } from './discovery.fixture.ts';
import type { ExtraGroup } from './groups.ts';
import { createDiscoveryRoutes } from './routes.ts';

interface Site {
  readonly registry: ResourceRegistry;
  extras: readonly ExtraGroup[];
  get(path: string, headers?: ApiRequest['headers'], query?: string): BytesResponse;
  json(path: string, headers?: ApiRequest['headers']): unknown;
}

function bytes(response: ApiResponse | Promise<ApiResponse>): BytesResponse {
  if (response instanceof Promise || response.kind !== 'bytes') throw new Error('no plain response');
  return response;
}

const text = ({ body }: BytesResponse): string =>
  Buffer.isBuffer(body) ? body.toString() : Buffer.concat(body).toString();

function createSite(name: VocabularyName = 'kubernetes', more: readonly Resource[] = []): Site {
  const vocabulary = VOCABULARIES[name];
  const builtin = builtinResources({ vocabulary, gates: new Set(), kinds: {} });
  const registry = createResourceRegistry([...builtin, ...more]);
  const site: Site = {
    registry,
    extras: [],
    get: (path, headers = {}, query = '') =>
      bytes(routeOf(routes, path).handler(requestFor(path, headers, query))),
    json(path, headers) {
      const value: unknown = JSON.parse(text(site.get(path, headers)));
      return value;
    },
  };
  const routes = createDiscoveryRoutes({
    vocabulary,
    registry,
    protobuf: createApiProtobuf(vocabulary),
    build: {
      product: 'control-plane-lite.0.1.0',
      gitCommit: '',
      buildDate: '2026-11-21T12:00:00Z',
      arch: 'x64',
      nodeVersion: 'v26.10.0',
    },
    serverAddress: () => '192.0.2.1:6443',
    extraGroups: () => site.extras,
    otherPaths: ['/healthz'],
  });
  return site;
}

const { kubernetes, plat } = VOCABULARIES;
const wide = (version: string, { apiGroupDomain } = kubernetes): ApiRequest['headers'] => ({
  accept: `application/json;g=apidiscovery.${apiGroupDomain};v=${version};as=APIGroupDiscoveryList,application/json`,
});

describe('/api', () => {
  it('names the versions of the core group and the address', () => {
    expect(createSite().json('/api')).toEqual({
      kind: 'APIVersions',
      apiVersion: 'v1',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '192.0.2.1:6443' }],
    });
  });

  it('has the resources of the core group under its version', () => {
    const list = createSite().json('/api/v1');
    expect(list).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' });
    expect(list).toHaveProperty(
      'resources',
      expect.arrayContaining([
        {
          name: 'pods',
          singularName: '',
          namespaced: true,
          kind: 'Pod',
          verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
          shortNames: ['po'],
          categories: ['all'],
          storageVersionHash: 'xPOwRZ+Yhw8=',
        },
        {
          name: 'pods/eviction',
          singularName: '',
          namespaced: true,
          group: 'policy',
          version: 'v1',
          kind: 'Eviction',
          verbs: ['create'],
        },
        { name: 'pods/log', singularName: '', namespaced: true, kind: 'Pod', verbs: ['get'] },
        { name: 'bindings', singularName: '', namespaced: true, kind: 'Binding', verbs: ['create'] },
      ]),
    );
  });
});

describe('/apis', () => {
  it.each(['plat', 'kubernetes'] as const)(
    'names groups in the order of their priority in %s words',
    (name) => {
      const domain = VOCABULARIES[name].apiGroupDomain;
      const list = createSite(name).json('/apis');
      expect(list).toHaveProperty(['groups', '0', 'name'], `apiregistration.${domain}`);
      expect(list).toHaveProperty(['groups', '1', 'name'], 'apps');
      expect(list).toHaveProperty(['groups', '2', 'name'], `events.${domain}`);
    },
  );

  it('prefers the stable and newer version', () => {
    expect(createSite().json('/apis/autoscaling')).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'autoscaling',
      versions: [
        { groupVersion: 'autoscaling/v2', version: 'v2' },
        { groupVersion: 'autoscaling/v1', version: 'v1' },
        { groupVersion: 'autoscaling/v2beta2', version: 'v2beta2' },
        { groupVersion: 'autoscaling/v2beta1', version: 'v2beta1' },
      ],
      preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
    });
  });

  it('lists what is an operation only', () => {
    const path = `/apis/authorization.${kubernetes.apiGroupDomain}/v1`;
    expect(createSite().json(path)).toHaveProperty(
      'resources',
      expect.arrayContaining([
        {
          name: 'subjectaccessreviews',
          singularName: '',
          namespaced: false,
          kind: 'SubjectAccessReview',
          verbs: ['create'],
        },
      ]),
    );
  });

  it('names the version of a scale', () => {
    expect(createSite().json('/apis/apps/v1')).toHaveProperty(
      'resources',
      expect.arrayContaining([
        {
          name: 'deployments/scale',
          singularName: '',
          namespaced: true,
          group: 'autoscaling',
          version: 'v1',
          kind: 'Scale',
          verbs: ['get', 'patch', 'update'],
        },
      ]),
    );
  });

  it.each(['/apis/nosuch', '/apis/apps/v9', '/api/v2', '/apis/nosuch/v1'])('has nothing at %s', (path) => {
    expect(() => createSite().get(path)).toThrowError(expect.objectContaining({ code: 404 }));
  });

  it('bears a slash at the end', () => {
    expect(createSite().get('/api/v1/').status).toBe(200);
  });
});

describe('custom resources', () => {
  const widgets = customResource({ group: 'example.com', version: 'v1', plural: 'widgets', kind: 'Widget' });

  it('come and go', () => {
    const site = createSite();
    expect(() => site.get('/apis/example.com/v1')).toThrowError('could not find');
    site.registry.put(widgets);
    expect(site.json('/apis/example.com/v1')).toMatchObject({
      resources: [{ name: 'widgets', singularName: 'widget', kind: 'Widget' }],
    });
    const groups = JSON.stringify(site.json('/apis'));
    expect(groups).toContain('example.com/v1');
    site.registry.remove('example.com', 'v1', 'widgets');
    expect(JSON.stringify(site.json('/apis'))).not.toContain('example.com');
  });

  it('are cached by their hash, whatever version is requested', () => {
    const next = customResource({ group: 'example.com', version: 'v2', plural: 'widgets', kind: 'Widget' });
    const site = createSite('kubernetes', [widgets, { ...next, storage: widgets.storage }]);
    const hashes = ['v1', 'v2'].map((version) => {
      const list = JSON.stringify(site.json(`/apis/example.com/${version}`));
      return /"storageVersionHash":"([^"]+)"/.exec(list)?.[1];
    });
    expect(hashes[0]).toMatch(/^[A-Za-z0-9+/]{11}=$/);
    expect(hashes[1]).toBe(hashes[0]);
  });
});

describe('the whole list', () => {
  it.each(['v2', 'v2beta1'])('is served as %s on request', (version) => {
    const site = createSite();
    const { contentType, headers } = site.get('/apis', wide(version));
    expect(contentType).toBe(
      `application/json;g=apidiscovery.${kubernetes.apiGroupDomain};v=${version};as=APIGroupDiscoveryList`,
    );
    expect(headers).toMatchObject({ Vary: 'Accept' });
    const list = site.json('/apis', wide(version));
    expect(list).toMatchObject({ kind: 'APIGroupDiscoveryList' });
    expect(list).toHaveProperty(['items', '1', 'metadata', 'name'], 'apps');
    expect(list).toHaveProperty(
      ['items', '1', 'versions', '0', 'resources'],
      expect.arrayContaining([
        expect.objectContaining({
          resource: 'deployments',
          responseKind: { group: 'apps', version: 'v1', kind: 'Deployment' },
          scope: 'Namespaced',
          singularResource: 'deployment',
          subresources: [
            {
              subresource: 'scale',
              responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
              verbs: ['get', 'patch', 'update'],
            },
            expect.objectContaining({ subresource: 'status' }),
          ],
        }),
      ]),
    );
  });

  it('of /api has the core group alone', () => {
    expect(createSite('plat').json('/api', wide('v2', plat))).toMatchObject({
      items: [{ metadata: { name: '' }, versions: [{ version: 'v1', freshness: 'Current' }] }],
    });
  });

  it('is not given in the words of the other vocabulary', () => {
    expect(createSite('plat').json('/api', wide('v2'))).toMatchObject({ kind: 'APIVersions' });
  });

  it('is not given to who prefers the usual document', () => {
    const accept = `application/json,${wide('v2').accept ?? ''}`;
    expect(createSite().json('/apis', { accept })).toMatchObject({ kind: 'APIGroupList' });
  });
});

describe('groups of other servers', () => {
  const extra: ExtraGroup = { group: 'metrics.example.com', versions: ['v1beta1'], priority: 50 };

  it('come last when their priority is low, as stale where nothing is known of them', () => {
    const site = createSite();
    site.extras = [extra];
    const names = JSON.stringify(site.json('/apis'));
    expect(names.endsWith('"metrics.example.com/v1beta1","version":"v1beta1"}}]}')).toBe(true);
    expect(JSON.stringify(site.json('/apis', wide('v2')))).toContain(
      '"versions":[{"version":"v1beta1","resources":[],"freshness":"Stale"}]',
    );
  });

  it('have their own handlers', () => {
    const site = createSite();
    const response: BytesResponse = { kind: 'bytes', status: 200, contentType: 'x/y', body: [] };
    site.extras = [{ ...extra, forward: () => response }];
    expect(site.get('/apis/metrics.example.com/v1beta1')).toBe(response);
  });

  it('add versions to a group of our own', () => {
    const site = createSite();
    site.extras = [{ group: 'batch', versions: ['v1', 'v2'], resources: { v2: [] } }];
    expect(site.json('/apis/batch')).toMatchObject({
      preferredVersion: { version: 'v2' },
      versions: [{ version: 'v2' }, { version: 'v1' }, { version: 'v1beta1' }],
    });
  });
});

describe('forms', () => {
  it('speaks protobuf and YAML', () => {
    const site = createSite();
    const { contentType, body } = site.get('/apis', { accept: kubernetes.protobufContentType });
    expect(contentType).toBe(kubernetes.protobufContentType);
    if (!Buffer.isBuffer(body)) throw new Error('one piece was expected');
    expect(createApiProtobuf(kubernetes).decode(body)).toEqual(site.json('/apis'));
    const yaml = site.get('/apis/apps', { accept: 'application/yaml' });
    expect(text(yaml)).toContain('preferredVersion:\n  groupVersion: apps/v1\n');
  });

  it('has no other', () => {
    expect(() => createSite().get('/apis', { accept: 'text/html' })).toThrowError(
      expect.objectContaining({ code: 406 }),
    );
  });

  it('is readable for people', () => {
    expect(text(createSite().get('/api', {}, 'pretty=1'))).toContain('\n  "versions"');
  });

  it('builds a response once, until something changes', () => {
    const site = createSite();
    const first = site.get('/api/v1').body;
    expect(site.get('/api/v1').body).toBe(first);
    site.registry.put(customResource({ group: 'example.com', version: 'v1', plural: 'xs', kind: 'X' }));
    expect(site.get('/api/v1').body).not.toBe(first);
  });
});

describe('entity tags', () => {
  it('spare a client what it has', () => {
    const site = createSite();
    const first = site.get('/apis', wide('v2'));
    const etag = first.headers?.['ETag'] ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    const again = site.get('/apis', { ...wide('v2'), 'if-none-match': `"x", W/${etag}` });
    expect([again.status, again.body, again.contentType]).toEqual([304, [], first.contentType]);
    expect(site.get('/apis', { ...wide('v2beta1'), 'if-none-match': etag }).status).toBe(200);
    site.registry.put(customResource({ group: 'example.com', version: 'v1', plural: 'xs', kind: 'X' }));
    expect(site.get('/apis', { ...wide('v2'), 'if-none-match': etag }).status).toBe(200);
  });
});

describe('/version and /', () => {
  it('returns the release', () => {
    expect(createSite().json('/version')).toEqual({
      major: '1',
      minor: '24',
      gitVersion: 'v1.24.17+control-plane-lite.0.1.0',
      gitCommit: '',
      gitTreeState: 'clean',
      buildDate: '2026-11-21T12:00:00Z',
      goVersion: 'node26.10.0',
      compiler: 'v8',
      platform: 'linux/amd64',
    });
  });

  it('lists the paths', () => {
    expect(createSite().json('/')).toHaveProperty(
      'paths',
      expect.arrayContaining(['/api', '/api/v1', '/apis', '/apis/apps/v1', '/healthz', '/version']),
    );
  });
});
