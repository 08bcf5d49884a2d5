/** The way to nodes and pods, for the subresources that lead there. */
import { randomInt } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import type { Identity } from '#api/pki/certificate.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ServerConfig } from '../config/settings.ts';
import type { AgentTrust } from '../endpoints/node-passage/agents.ts';
import { createNodePassage, type NodePassage } from '../endpoints/node-passage/passage.ts';
import { probeAgent } from '../endpoints/node-passage/probe.ts';
import type { ServerIdentity } from '../identity/files.ts';
import type { Core } from './core.ts';

/** The user that this server is to node agents; a role lets him in where they ask the server. */
export const nodeClientName = ({ componentPrefix, agentComponent }: Vocabulary): string =>
  `${componentPrefix}-apiserver-${agentComponent}-client`;

/** @throws Error that names a file which can't be read */
export async function createNodes(
  { config, registry, cache, clock, vocabulary }: Core,
  identity: ServerIdentity,
  ownPort: () => number,
): Promise<NodePassage> {
  return createNodePassage(
    {
      clock,
      ownPort,
      isOwnAddress: (address) => ownAddresses().has(address),
      identity: await clientIdentity(config, identity),
      trust: await agentTrust(config, identity),
      probe: (target) => probeAgent(target, { clock, connectTimeoutMs: config.nodeagentTimeout }),
      async lookup(name) {
        const found = await lookup(name, { all: true });
        return found.map(({ address }) => address);
      },
      find(plural, namespace, name) {
        const resource = registry.find('', 'v1', plural);
        if (resource === undefined) return undefined;
        const key = resource.info.namespaced ? `${namespace}/${name}` : name;
        return cache.resource(resource.storage).get(key)?.object();
      },
      choose: (count) => (count === 0 ? 0 : randomInt(count)),
    },
    {
      preferredTypes: config.nodeagentPreferredAddressTypes,
      defaultPort: config.nodeagentPort,
      endpointMember: vocabulary.nodeAgentEndpointMember,
      connectTimeoutMs: config.nodeagentTimeout,
      domain: vocabulary.apiGroupDomain,
    },
  );
}

const ownAddresses = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address)));

/** By default agents show certificates of this server's own signer. Those of its first authority are believed too: it
 *  signed them before there was one for this alone. */
async function agentTrust(
  { nodeagentCertificateAuthority: file, nodeagentSkipTlsVerify: skip }: ServerConfig,
  { authority, nodeServingAuthority }: ServerIdentity,
): Promise<AgentTrust> {
  if (skip) return { kind: 'none' };
  if (file !== '') return { kind: 'file', authority: await readFile(file, 'utf8') };
  return { kind: 'own', authorities: [nodeServingAuthority.certificate, authority.certificate] };
}

async function clientIdentity(
  { nodeagentClientCertificate: certificate, nodeagentClientKey: key }: ServerConfig,
  { nodeClient }: ServerIdentity,
): Promise<Identity> {
  if (certificate === '') return nodeClient;
  return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
}
