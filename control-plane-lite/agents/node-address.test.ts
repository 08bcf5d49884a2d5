import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { agentAddress } from './node-address.ts';

const preferredTypes = ['InternalIP', 'Hostname'];
const options = (endpointMember: string) => ({ preferredTypes, defaultPort: 10_250, endpointMember });
const node = (status: object): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1' },
  status,
});
const addresses = [
  { type: 'ExternalIP', address: '192.0.2.1' },
  { type: 'Hostname', address: 'n1' },
  { type: 'InternalIP', address: '10.0.0.7' },
];

describe('agentAddress', () => {
  test.each(Object.values(VOCABULARIES))('takes the port that the node reports ($name)', (words) => {
    const member = words.nodeAgentEndpointMember;
    const reported = node({ addresses, daemonEndpoints: { [member]: { Port: 7 } } });
    expect(agentAddress(reported, options(member))).toEqual({ host: '10.0.0.7', port: 7 });
  });

  test.each([
    ['nothing', {}],
    ['zero', { daemonEndpoints: { e: { Port: 0 } } }],
    ['another endpoint', { daemonEndpoints: { f: { Port: 7 } } }],
    ['what is no port', { daemonEndpoints: { e: { Port: 70_000 } } }],
  ])('uses the default port for %s', (_, status) => {
    expect(agentAddress(node({ addresses, ...status }), options('e')).port).toBe(10_250);
  });

  test('takes the type that is preferred most', () => {
    const { host } = agentAddress(node({ addresses }), { ...options('e'), preferredTypes: ['Hostname'] });
    expect(host).toBe('n1');
  });

  test.each([
    ['none', {}, 'node "n1" has no address of the preferred types; it has none'],
    [
      'none of a type that is asked for',
      { addresses: addresses.slice(0, 1) },
      'node "n1" has no address of the preferred types; it has ExternalIP: 192.0.2.1',
    ],
  ])('reports a node with %s', (_, status, message) => {
    expect(() => agentAddress(node(status), options('e'))).toThrow(message);
  });
});
