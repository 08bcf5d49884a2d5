/** Creates the default service account in every namespace. Source: upstream's service account controller. */
import { followNamespaces, NAMESPACE_WORKERS } from '../every-namespace.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';

export const serviceAccountController: Controller = defineController({
  name: 'serviceaccount',
  identity: 'service-account-controller',
  watches: ['namespaces', 'serviceaccounts'],
  writes: { serviceaccounts: { create: true, update: [] } },
  ownFieldManager: true,
  workers: NAMESPACE_WORKERS,
  start: (context) =>
    followNamespaces(context, {
      kind: 'serviceaccounts',
      name: 'default',
      create: () => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: {} }),
    }),
});
