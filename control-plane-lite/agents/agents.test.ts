import type { PeerCertificate } from 'node:tls';
import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../resources/contract.ts';
import { type Agents, type AgentTrust, createAgents, type Target } from './agents.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'n1.example.org': ['10.0.0.7'],
  'both.example.org': ['169.254.1.1', '10.0.0.8'],
  'cloud.example.org': ['169.254.169.254'],
  'here.example.org': ['127.0.0.1'],
};

const OWN: AgentTrust = { kind: 'own', authorities: ['SERVING', 'CA'] };

interface Fakes {
  readonly probe?: (target: Target) => Promise<void>;
  readonly now?: () => number;
}

function agentsAt(host: string, port = 10_250, trust: AgentTrust = OWN, fakes: Fakes = {}): Agents {
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
      node: (name) => (name === 'n1' || name === 'other' || name === '10.0.0.3' ? node : undefined),
      lookup(name) {
        const found = NAMES[name];
        return found === undefined ? Promise.reject(new Error('no such name')) : Promise.resolve(found);
      },
      identity: () => ({ certificate: 'C', key: 'K' }),
      trust: () => trust,
      probe: fakes.probe ?? (() => Promise.resolve()),
      clock: { now: fakes.now ?? (() => 0) },
      ownPort: () => 6443,
      isOwnAddress: (address) => address === '10.0.0.1',
    },
    { preferredTypes: ['Hostname'], defaultPort: 1, endpointMember: 'endpoint' },
  );
}

describe('createAgents', () => {
  test('by a file of authorities, expects the certificate of the name that it has looked up', async () => {
    const trust: AgentTrust = { kind: 'file', authority: 'CA' };
    expect(await agentsAt('n1.example.org', 10_250, trust).find('n1')).toEqual({
      host: '10.0.0.7',
      port: 10_250,
      tls: { cert: 'C', key: 'K', servername: 'n1.example.org', ca: 'CA' },
    });
  });

  test('expects nothing if certificates are not verified, and probes no agent', async () => {
    const probe = (): Promise<void> => Promise.reject(new Error('probed'));
    expect(await agentsAt('10.0.0.9', 10_250, { kind: 'none' }, { probe }).find('n1')).toEqual({
      host: '10.0.0.9',
      port: 10_250,
      tls: { cert: 'C', key: 'K', servername: '', rejectUnauthorized: false },
    });
  });

  test('by its own authorities, expects the certificate of the node, whatever the address', async () => {
    const { tls } = await agentsAt('10.0.0.9').find('n1');
    expect(tls).toMatchObject({ servername: 'n1', ca: ['SERVING', 'CA'], cert: 'C' });
    const errorOf = (subject: object): string | undefined =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a certificate of which only the subject is read
      tls?.checkServerIdentity?.('10.0.0.9', { subject } as PeerCertificate)?.message;
    expect(errorOf({ CN: 'system:node:n1', O: 'system:nodes' })).toBeUndefined();
    expect(errorOf({ CN: 'system:node:n2', O: 'system:nodes' })).toContain('system:node:n2');
    expect(errorOf({ CN: 'system:node:n1', O: 'others' })).toBeDefined();
    expect(errorOf({ CN: ['system:node:n1', 'x'], O: 'system:nodes' })).toBeDefined();
    expect(errorOf({ CN: 'control-plane-lite' })).toBeDefined();
  });

  test('two nodes that registered one address share no connection', async () => {
    const agents = agentsAt('10.0.0.9');
    const names = await Promise.all(
      ['n1', 'other', '10.0.0.3'].map(async (name) => (await agents.find(name)).tls?.servername),
    );
    expect(names).toEqual(['n1', 'other', '10.0.0.3.node']);
  });

  test('presents its own certificate only to peers that have presented the right one', async () => {
    const probed: Target[] = [];
    const failing = (target: Target): Promise<void> => {
      probed.push(target);
      return Promise.reject(
        Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      );
    };
    const agents = agentsAt('127.0.0.1', 10_250, OWN, { probe: failing });
    const refused = agents.find('n1');
    await expect(refused).rejects.toMatchObject({ code: 503 });
    await expect(refused).rejects.toThrow(
      /node n1 at 127\.0\.0\.1 port 10250.*serverTLSBootstrap.*--nodeagent-skip-tls-verify/,
    );
    expect(probed[0]?.tls).not.toHaveProperty('cert');
    expect(probed[0]?.tls).not.toHaveProperty('key');
  });

  test('probes an agent once in a while, and each node for itself', async () => {
    let now = 0;
    const probed: string[] = [];
    const probe = ({ tls }: Target): Promise<void> => {
      probed.push(tls?.servername ?? '');
      return Promise.resolve();
    };
    const agents = agentsAt('127.0.0.1', 10_250, OWN, { probe, now: () => now });
    await agents.find('n1');
    await agents.find('n1');
    await agents.find('other');
    now = 10_000;
    await agents.find('n1');
    expect(probed).toEqual(['n1', 'other', 'n1']);
  });

  test('shows a client that minds no certificate nothing on loopback', async () => {
    const probe = (): Promise<void> => Promise.reject(new Error('self-signed certificate'));
    const { tls: here } = await agentsAt('127.0.0.1', 10_250, OWN, { probe }).findUnchecked('n1');
    expect(here).toEqual({ servername: '', rejectUnauthorized: false });
    const { tls: there } = await agentsAt('10.0.0.9', 10_250, OWN, { probe }).findUnchecked('n1');
    expect(there).toMatchObject({ rejectUnauthorized: false, cert: 'C' });
  });

  test('an agent on loopback that proves itself is shown the certificate to whatever client', async () => {
    const { tls } = await agentsAt('127.0.0.1').findUnchecked('n1');
    expect(tls).toMatchObject({ servername: 'n1', ca: ['SERVING', 'CA'], cert: 'C', key: 'K' });
  });

  test('skips addresses that are never reachable', async () => {
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
    ['10.0.0.1', 6443],
  ])('rejects %s at port %d', async (host, port) => {
    await expect(agentsAt(host, port).find('n1')).rejects.toMatchObject({ message: 'address not allowed' });
  });

  test.each([
    ['127.0.0.1', 10_250],
    ['here.example.org', 10_250],
    ['10.0.0.7', 6443],
  ])('lets %s at port %d be', async (host, port) => {
    expect(await agentsAt(host, port).find('n1')).toMatchObject({ port });
  });

  test('reports an unknown name, and a missing node', async () => {
    await expect(agentsAt('nowhere').find('n1')).rejects.toMatchObject({ code: 503 });
    await expect(agentsAt('10.0.0.7').find('n2')).rejects.toMatchObject({ code: 404 });
  });
});
