/** Publishes the server's CA in a ConfigMap of every namespace, for the volumes with which pods reach the
 *  API. Source: upstream's publisher of the root CA, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Vocabulary } from '#api/vocabulary.ts';
import { rootCaName } from '../../resources/core/root-ca-name.ts';
import { type EveryNamespaceDeps, keepInEveryNamespace } from '../every-namespace.ts';

export interface RootCaDeps extends EveryNamespaceDeps {
  readonly vocabulary: Vocabulary;
}

const DESCRIPTION =
  'The authority of the API server, for clients inside of the cluster. It is good for nothing else.';

/** `authority`: PEM. Runs until the signal is aborted. */
export function runRootCaPublisher(deps: RootCaDeps, authority: string, signal: AbortSignal): Promise<void> {
  const data = { 'ca.crt': authority };
  const annotation = `${deps.vocabulary.domain}/description`;
  return keepInEveryNamespace(
    deps,
    {
      manager: 'root-ca-cert-publisher',
      plural: 'configmaps',
      name: rootCaName(deps.vocabulary),
      make: () => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { annotations: { [annotation]: DESCRIPTION } },
        data: { ...data },
      }),
      repair(draft) {
        if (isDeepStrictEqual(draft['data'], data)) return false;
        draft['data'] = { ...data };
        return true;
      },
    },
    signal,
  );
}
