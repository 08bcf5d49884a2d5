import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../resources/contract.ts';
import { apiPath, extraGroups, type RemoteApi, readRemoteApi } from './api-services.ts';
import { parseResources } from './check-discovery.ts';

const spec = { group: 'example.com', version: 'v1', groupPriorityMinimum: 100, versionPriority: 10 };
const service = { namespace: 'n', name: 's' };
const object = (more: object, status?: object): ApiObject => ({
  apiVersion: '',
  kind: 'APIService',
  metadata: { name: 'v1.example.com' },
  spec: { ...spec, ...more },
  ...(status === undefined ? {} : { status }),
});

describe('readRemoteApi', () => {
  test('knows those of this server', () => expect(readRemoteApi(object({}))).toBeUndefined());

  test('reads the rest', () => {
    expect(readRemoteApi(object({ service, caBundle: 'Q0E=' }))).toEqual({
      name: 'v1.example.com',
      group: 'example.com',
      version: 'v1',
      groupPriority: 100,
      versionPriority: 10,
      service: { ...service, port: 443 },
      authority: 'CA',
      insecure: false,
      available: false,
    });
    const status = { conditions: [{ type: 'Available', status: 'True' }] };
    const found = readRemoteApi(object({ service, insecureSkipTLSVerify: true }, status));
    expect([found?.available, found?.insecure]).toEqual([true, true]);
  });
});

describe('extraGroups', () => {
  const api = (version: string, more: Partial<RemoteApi> = {}): RemoteApi => ({
    name: `${version}.g`,
    group: 'g',
    version,
    groupPriority: 10,
    versionPriority: 10,
    service: { ...service, port: 443 },
    insecure: false,
    available: true,
    ...more,
  });
  const forward = (): never => {
    throw new Error('nothing is forwarded here');
  };

  test('orders versions by priority, then by age, and takes the highest priority of the group', () => {
    const apis = [
      api('v1beta1'),
      api('v1', { versionPriority: 5, groupPriority: 30 }),
      api('v2'),
      api('v1', { name: 'v1.h', group: 'h' }),
    ];
    const groups = extraGroups(apis, () => [], forward);
    expect(groups.map(({ group, versions, priority }) => [group, versions, priority])).toEqual([
      ['g', ['v2', 'v1beta1', 'v1'], 30],
      ['h', ['v1'], 10],
    ]);
  });

  test('knows nothing of servers that are not there', () => {
    const [group] = extraGroups([api('v1'), api('v2', { available: false })], () => [], forward);
    expect(group?.resources).toEqual({ v1: [] });
  });

  test('paths', () => expect([apiPath('', 'v1'), apiPath('g', 'v1')]).toEqual(['/api/v1', '/apis/g/v1']));
});

describe('parseResources', () => {
  const widgets = { name: 'widgets', singularName: '', namespaced: true, kind: 'Widget', verbs: ['get'] };

  test('takes what is a resource', () => {
    const more = { shortNames: ['w', 1], categories: ['all'], group: 'x', version: '' };
    const document = { resources: [{ ...widgets, ...more }, { name: 'x' }, null, 'y'] };
    expect(parseResources(document)).toEqual([
      { ...widgets, shortNames: ['w'], categories: ['all'], group: 'x' },
    ]);
  });

  test.each([undefined, null, {}, { resources: {} }, []])('finds none in %j', (document) =>
    expect(parseResources(document)).toEqual([]),
  );
});
