/** Which aggregated server serves a group or a kind. Requests themselves: `e2e/plane/autoscaling.node.test.ts`. */
import { describe, expect, test } from 'vitest';
import type { APIResource } from '#api/gen/meta-v1.ts';
import type { RemoteApi } from './api-services.ts';
import { createRemoteRequests } from './remote-requests.ts';

const api = (version: string, versionPriority: number, changes: Partial<RemoteApi> = {}): RemoteApi => ({
  name: `${version}.metrics.example.com`,
  group: 'metrics.example.com',
  version,
  groupPriority: 100,
  versionPriority,
  service: { namespace: 'extensions', name: 'metrics', port: 443 },
  insecure: false,
  available: true,
  ...changes,
});
const resource = (name: string, kind: string, namespaced = true): APIResource => ({
  name,
  singularName: '',
  namespaced,
  kind,
  verbs: ['get'],
});

function requests(
  apis: readonly RemoteApi[],
  resources: Readonly<Record<string, readonly APIResource[]>> = {},
) {
  return createRemoteRequests({
    find: (group, version) => apis.find((each) => each.group === group && each.version === version),
    apis: () => apis,
    resourcesOf: (name) => resources[name],
    findWay: () => ({ kind: 'unreachable', reason: 'MissingEndpoints', message: 'no endpoints' }),
    identity: () => ({ certificate: '', key: '' }),
    controller: 'test',
  });
}
const GROUP = 'metrics.example.com';

test.each<[string, readonly RemoteApi[], readonly string[]]>([
  ['by priority', [api('v1beta1', 10), api('v1beta2', 20)], ['v1beta2', 'v1beta1']],
  ['then by name', [api('v1beta1', 10), api('v1', 10)], ['v1', 'v1beta1']],
  ['only of the group', [api('v1', 10, { group: 'other' })], []],
])('versions of a group: %s', (_, apis, expected) => {
  expect(requests(apis).versionsOf(GROUP)).toEqual(expected);
});

describe('a kind', () => {
  const apis = [api('v2', 20), api('v1', 10)];
  const plain = [resource('fleets', 'Fleet')];
  const scalable = [...plain, resource('fleets/scale', 'Scale')];

  test.each<[string, Readonly<Record<string, readonly APIResource[]>>, string | undefined]>([
    ['in the preferred version', { [`v2.${GROUP}`]: scalable, [`v1.${GROUP}`]: scalable }, 'v2'],
    ['in the version in which it can be scaled', { [`v2.${GROUP}`]: plain, [`v1.${GROUP}`]: scalable }, 'v1'],
    ['that cannot be scaled', { [`v1.${GROUP}`]: plain }, 'v1'],
    ['outside of namespaces', { [`v1.${GROUP}`]: [resource('fleets', 'Fleet', false)] }, undefined],
    ['of an unknown server', {}, undefined],
  ])('%s', (_, resources, version) => {
    const found = requests(apis, resources).findKind(GROUP, 'Fleet');
    expect(found?.version).toBe(version);
    expect(found?.plural ?? 'fleets').toBe('fleets');
  });
});

test.each<[string, readonly RemoteApi[], string]>([
  ['no server', [], 'the server could not find the requested resource'],
  [
    'an unavailable one',
    [api('v1', 1, { available: false })],
    'the server is currently unable to handle the request',
  ],
  ['one without endpoints', [api('v1', 1)], 'no endpoints'],
])('a request to %s fails with the reason', async (_, apis, message) => {
  const request = { group: GROUP, version: 'v1', method: 'GET', path: '/pods' } as const;
  await expect(requests(apis).send(request, AbortSignal.timeout(60_000))).rejects.toThrow(message);
});
