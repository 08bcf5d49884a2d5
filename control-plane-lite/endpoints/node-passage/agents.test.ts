import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../../resources/contract.ts';
import { type Agents, createAgents } from './agents.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'n1.example.org': ['10.0.0.7'],
  'both.example.org': ['169.254.1.1', '10.0.0.8'],
  'cloud.example.org': ['169.254.169.254'],
  'here.example.org': ['127.0.0.1'],
};

function agentsAt(host: string, port = 10_250, authority?: string): Agents {
  const node: ApiObject = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1' },
    status: {
      addresses: [{ type: 'Hostname', address: host }],
      daemonEndpoints: { endpoint: { Port: port } },
    },
  };
  return createAgents(
    {
      node: (name) => (name === 'n1' ? node : undefined),
      lookup(name) {
        const found = NAMES[name];
        return found === undefined ? Promise.reject(new Error('no such name')) : Promise.resolve(found);
      },
      identity: { certificate: 'C', key: 'K' },
      authority,
      ownPort: () => 6443,
    },
    { preferredTypes: ['Hostname'], defaultPort: 1, endpointMember: 'endpoint' },
  );
}

describe('createAgents', () => {
  test('connects to what it has looked up and checked, and expects the certificate of the name', async () => {
    expect(await agentsAt('n1.example.org', 10_250, 'CA').find('n1')).toEqual({
      host: '10.0.0.7',
      port: 10_250,
      tls: { cert: 'C', key: 'K', servername: 'n1.example.org', ca: 'CA' },
    });
    expect(await agentsAt('10.0.0.9').find('n1')).toEqual({
      host: '10.0.0.9',
      port: 10_250,
      tls: { cert: 'C', key: 'K', servername: '', rejectUnauthorized: false },
    });
  });

  test('passes over addresses that nobody may be led to', async () => {
    expect(await agentsAt('both.example.org').find('n1')).toMatchObject({ host: '10.0.0.8' });
  });

  test.each([
    ['cloud.example.org', 10_250],
    ['169.254.169.254', 80],
    ['0.0.0.0', 10_250],
    // This server itself.
    ['127.0.0.1', 6443],
    ['here.example.org', 6443],
    ['::1', 6443],
  ])('refuses %s at port %d', async (host, port) => {
    await expect(agentsAt(host, port).find('n1')).rejects.toMatchObject({ message: 'address not allowed' });
  });

  test.each([
    ['127.0.0.1', 10_250],
    ['here.example.org', 10_250],
    ['10.0.0.7', 6443],
  ])('lets %s at port %d be', async (host, port) => {
    expect(await agentsAt(host, port).find('n1')).toMatchObject({ port });
  });

  test('tells of a name that nobody knows, and of a node that is not there', async () => {
    await expect(agentsAt('nowhere').find('n1')).rejects.toMatchObject({ code: 503 });
    await expect(agentsAt('10.0.0.7').find('n2')).rejects.toMatchObject({ code: 404 });
  });
});
