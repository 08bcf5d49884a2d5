/** Controllers of certificate signing requests, on the server's own CAs. */
import { setImmediate } from 'node:timers/promises';
import type { Node } from '#api/gen/core-v1.ts';
import { runApprover } from '../controllers/certificates/approver.ts';
import { runCleaner } from '../controllers/certificates/cleaner.ts';
import type { RequestControllerDeps } from '../controllers/certificates/follow-requests.ts';
import { runSigner } from '../controllers/certificates/signer.ts';
import type { ServerIdentity } from '../identity/files.ts';
import { typed } from '../resources/view.ts';
import type { Core } from './core.ts';

/** Number of nodes parsed before the event loop gets its turn. */
const AT_A_TIME = 100;

async function nodesOf({ registry, cache }: Core): Promise<readonly Node[]> {
  const resource = registry.find('', 'v1', 'nodes');
  if (resource === undefined) return [];
  const { items } = await cache.resource(resource.storage).list({ labels: [], fields: [] });
  const nodes: Node[] = [];
  for (const item of items) {
    nodes.push(typed<Node>(item.object()));
    if (nodes.length % AT_A_TIME === 0) await setImmediate();
  }
  return nodes;
}

/** Runs until the signal fires. */
export async function runCertificates(
  core: Core,
  { authority, nodeServingAuthority }: Pick<ServerIdentity, 'authority' | 'nodeServingAuthority'>,
  signal: AbortSignal,
): Promise<void> {
  const { registry, cache, verbs, clock, vocabulary, access, config, controllers } = core;
  const deps = (controller: string): RequestControllerDeps => ({
    registry,
    cache,
    verbs,
    clock,
    vocabulary,
    log: core.log.child({ controller }),
  });
  const options = { authority, nodeServingAuthority, longestMs: config.clusterSigningDuration };
  await Promise.all([
    controllers.has('csrapproving') &&
      runApprover(
        { ...deps('certificate-approver'), authorizer: access.authorizer, nodes: () => nodesOf(core) },
        signal,
      ),
    controllers.has('csrsigning') && runSigner(deps('certificate-signer'), options, signal),
    controllers.has('csrcleaner') && runCleaner(deps('certificate-cleaner'), signal),
  ]);
}
