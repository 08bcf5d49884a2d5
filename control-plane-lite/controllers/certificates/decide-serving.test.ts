import { expect, test } from 'vitest';
import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type RequestTraits, requestData } from '#plane/resources/groups/certificates/requests.fixture.ts';
import { decideServing } from './decide-serving.ts';

const { plat } = VOCABULARIES;

const A = { commonName: 'system:node:a', organizations: ['system:nodes'] };

function node(name: string, addresses: readonly string[], bootID = name): Node {
  const nodeInfo = { bootID } as NonNullable<NonNullable<Node['status']>['nodeInfo']>;
  const status = { addresses: addresses.map((address) => ({ type: 'InternalIP', address })), nodeInfo };
  return { metadata: { name }, status };
}

interface Traits {
  readonly username?: string;
  readonly groups?: readonly string[];
  readonly signerName?: string;
  readonly condition?: string;
}

function request(subject: RequestTraits, traits: Traits = {}): CertificateSigningRequest {
  const { username = 'system:node:a', groups = ['system:nodes'], condition } = traits;
  const { signerName = `${plat.domain}/${plat.nodeServingSigner}` } = traits;
  return {
    metadata: { name: 'r' },
    spec: {
      request: requestData(subject),
      signerName,
      usages: ['key encipherment', 'digital signature', 'server auth'],
      username,
      groups: [...groups],
    },
    status: { conditions: condition === undefined ? [] : [{ type: condition, status: 'True' }] },
  };
}

const NODES = [node('a', ['10.0.0.1', 'fd00::1', 'Host-A']), node('b', ['10.0.0.2'])];
const decide = (object: CertificateSigningRequest, nodes: readonly Node[] = NODES): string => {
  const decision = decideServing(object, nodes, plat);
  return decision.kind === 'wait' ? decision.why : decision.kind;
};

test.each<[string, RequestTraits]>([
  ['an address', { ipAddresses: ['10.0.0.1'] }],
  ['an address in another form', { ipAddresses: ['fd00:0:0::1'] }],
  ['a name in another case', { dnsNames: ['host-a'] }],
  ['all of them', { dnsNames: ['host-a'], ipAddresses: ['10.0.0.1', 'fd00::1'] }],
])('a node gets a certificate for %s of its own', (_, names) => {
  expect(decide(request({ ...A, ...names }))).toBe('approve');
});

test.each<[string, RequestTraits, string]>([
  [
    'that it does not have',
    { ipAddresses: ['10.0.0.1', '10.0.0.9'] },
    '10.0.0.9 is not an address of node a',
  ],
  [
    'of the API server',
    { dnsNames: ['kubernetes.default'] },
    'kubernetes.default is not an address of node a',
  ],
])('a node gets none for a name %s', (_, names, why) => {
  expect(decide(request({ ...A, ...names }))).toBe(why);
});

test('a node gets none for an address that a node on another machine has too', () => {
  const requested = request({ ...A, ipAddresses: ['10.0.0.1'] });
  expect(decide(requested, [node('a', ['10.0.0.1']), node('b', ['10.0.0.1'])])).toBe(
    'address 10.0.0.1 also belongs to node b',
  );
  expect(decide(requested, [node('a', ['10.0.0.1'], 'm'), node('b', ['10.0.0.1'], 'm')])).toBe('approve');
  expect(decide(requested, [node('a', ['10.0.0.1'], ''), node('b', ['10.0.0.1'], '')])).toContain(
    'also belongs to',
  );
});

test('a node that does not exist yet waits', () => {
  expect(decide(request({ ...A, ipAddresses: ['10.0.0.1'] }), [])).toBe('node a does not exist yet');
});

const OWN = { ...A, ipAddresses: ['10.0.0.1'] };

test.each<[string, CertificateSigningRequest]>([
  ['of another node', request({ ...OWN, commonName: 'system:node:b' })],
  ['of a user in the name of a node', request(OWN, { username: 'jane' })],
  ['of a user with the name of a node', request(OWN, { groups: ['system:authenticated'] })],
  ['for another signer', request(OWN, { signerName: `${plat.domain}/${plat.nodeClientSigner}` })],
  ['with another organization', request({ ...OWN, organizations: ['system:masters'] })],
  ['that is denied', request(OWN, { condition: 'Denied' })],
  ['that is approved', request(OWN, { condition: 'Approved' })],
])('a request %s is left to others', (_, object) => {
  expect(decide(object)).toBe('leave');
});
