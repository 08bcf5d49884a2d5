/** Connections to nodes and pods, for the connect subresources and for the metrics of nodes. */
import { randomInt } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';
import { NO_RESPONSE } from '#api/kit/waits.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { AgentTrust } from '../agents/agents.ts';
import { type ConnectProxy, createConnectProxy } from '../endpoints/connect/connect-proxy.ts';
import { probeAgent } from '../endpoints/connect/probe.ts';
import { type Collector, createCollector } from '../resource-metrics/collector.ts';
import { fetchScrape } from '../resource-metrics/fetch-scrape.ts';
import { createNodeConnections } from '../resource-metrics/node-connections.ts';
import { requireCertificates } from './certificates/client-authorities.ts';
import { pairOptions } from './certificates/key-pairs.ts';
import type { Core } from './core.ts';

/** User name of this server towards node agents; a role grants it access when they ask the server. */
export const nodeClientName = ({ componentPrefix, agentComponent }: Vocabulary): string =>
  `${componentPrefix}-apiserver-${agentComponent}-client`;

export interface Nodes extends ConnectProxy {
  readonly collector: Collector;
}

/** @throws Error that names an unreadable file */
export async function createNodes(core: Core, ownPort: () => number): Promise<Nodes> {
  const connectProxy = await createProxy(core, ownPort);
  const { clock } = core;
  const log = core.log.child({ controller: 'resource-metrics' });
  const connections = createNodeConnections(connectProxy.agents);
  const collector = createCollector({
    clock,
    log,
    random: Math.random,
    followNodes(listener) {
      const nodes = core.registry.find('', 'v1', 'nodes');
      if (nodes === undefined) return { close: () => undefined };
      return core.cache
        .resource(nodes.storage)
        .follow(({ type, current }) => listener(current.name, type !== 'DELETED'));
    },
    scrape: (node, signal) => fetchScrape({ ...connections, clock }, node, signal),
  });
  return {
    ...connectProxy,
    collector,
    close() {
      collector.close();
      connectProxy.close();
    },
  };
}

async function createProxy(core: Core, ownPort: () => number): Promise<ConnectProxy> {
  const { config, registry, cache, clock, vocabulary, waits } = core;
  return createConnectProxy(
    {
      clock,
      ownPort,
      isOwnAddress: (address) => ownAddresses().has(address),
      identity: await clientIdentity(core),
      trust: await agentTrust(core),
      probe(target) {
        const probing = probeAgent(target, { clock, connectTimeoutMs: config.nodeagentTimeout });
        const what = `node agent at ${target.host} port ${target.port}`;
        return waits?.during(what, probing, NO_RESPONSE) ?? probing;
      },
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

/** By default agents present certificates of this server's signer for them. Those of its CA for clients are accepted
 *  too: it signed them before that signer existed. A configured signer signs them instead. */
async function agentTrust({ config, identity, follow, signers }: Core): Promise<() => AgentTrust> {
  const { nodeagentCertificateAuthority: file, nodeagentSkipTlsVerify: skip } = config;
  if (skip) return () => ({ kind: 'none' });
  if (file !== '') {
    const parse = ([text = '']: readonly string[]): string => requireCertificates(file, text);
    const authority = await follow({ what: 'CA of node agents', paths: [file], parse });
    return () => ({ kind: 'file', authority: authority.current() });
  }
  return () => {
    const { authority, nodeServingAuthority } = identity.current();
    const configured = signers('node-serving')?.certificate ?? '';
    return { kind: 'own', authorities: [nodeServingAuthority.trusted, authority.trusted, configured] };
  };
}

/** Returns the client certificate towards node agents. */
async function clientIdentity({ config, identity, follow }: Core): Promise<() => Identity> {
  const { nodeagentClientCertificate: certificate, nodeagentClientKey: key } = config;
  if (certificate === '') return () => identity.current().nodeClient;
  const pair = await follow(pairOptions('client certificate for node agents', certificate, key));
  return pair.current;
}
