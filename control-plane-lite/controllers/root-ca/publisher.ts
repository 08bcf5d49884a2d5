/** Publishes the server's CA in a ConfigMap of every namespace, for the volumes with which pods reach the
 *  API. Source: upstream's publisher of the root CA, release 1.24. */

import { isDeepStrictEqual } from 'node:util';
import type { ResourceCache } from '../../cache/contract.ts';
import { rootCaName } from '../../resources/core/root-ca-name.ts';
import { followNamespaces, NAMESPACE_WORKERS } from '../every-namespace.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';

const DESCRIPTION =
  'The authority of the API server, for clients inside of the cluster. It is good for nothing else.';

/** Requests another look at every namespace. */
async function requeueAll(
  namespaces: Pick<ResourceCache, 'list'>,
  add: (name: string) => void,
): Promise<void> {
  const { items } = await namespaces.list({ labels: [], fields: [] });
  for (const { name } of items) add(name);
}

export const rootCaPublisher: Controller = defineController({
  name: 'root-ca-cert-publisher',
  identity: 'root-ca-cert-publisher',
  watches: ['namespaces', 'configmaps'],
  writes: { configmaps: { create: true, update: ['data'] } },
  ownFieldManager: true,
  workers: NAMESPACE_WORKERS,
  start(context) {
    const { vocabulary, settings } = context;
    const data = (): Readonly<Record<string, string>> => ({ 'ca.crt': settings.rootAuthority() });
    const annotation = `${vocabulary.domain}/description`;
    const reconciler = followNamespaces(context, {
      kind: 'configmaps',
      name: rootCaName(vocabulary),
      create: () => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { annotations: { [annotation]: DESCRIPTION } },
        data: data(),
      }),
      repair(draft) {
        if (isDeepStrictEqual(draft['data'], data())) return false;
        draft['data'] = data();
        return true;
      },
    });
    const namespaces = context.cacheOf('namespaces');
    const close = settings.onTrustChange(() => {
      void requeueAll(namespaces, (name) => context.queue.add(name));
    });
    return { ...reconciler, follows: [...reconciler.follows, { close }] };
  },
});
