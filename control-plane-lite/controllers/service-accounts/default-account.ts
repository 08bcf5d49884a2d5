/** Creates the default service account in every namespace. Source: upstream's service account controller. */
import { type EveryNamespaceDeps, keepInEveryNamespace } from '../every-namespace.ts';

/** Runs until the signal is aborted. */
export function runDefaultAccounts(deps: EveryNamespaceDeps, signal: AbortSignal): Promise<void> {
  return keepInEveryNamespace(
    deps,
    {
      manager: 'service-account-controller',
      plural: 'serviceaccounts',
      name: 'default',
      make: () => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: {} }),
    },
    signal,
  );
}
