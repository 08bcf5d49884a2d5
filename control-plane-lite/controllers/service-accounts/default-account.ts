/** Gives every namespace the account that pods have who name none. Source: upstream's service account controller. */
import { type EveryNamespaceDeps, keepInEveryNamespace } from '../every-namespace.ts';

/** Works until the signal fires. */
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
