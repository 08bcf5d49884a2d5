/** Resource addresses of configuration objects on the API server. Pure. */
import type { ObjectAddress } from '../api-client/resource-path.ts';
import type { ObjectKey, ObjectKind } from './references.ts';

const RESOURCES: Readonly<Record<ObjectKind, string>> = {
  ConfigMap: 'configmaps',
  Secret: 'secrets',
  PersistentVolume: 'persistentvolumes',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  Endpoints: 'endpoints',
  Service: 'services',
  // Only from manifests: those of the server are read elsewhere.
  CSIDriver: 'csidrivers',
};

export function addressOfObject({ kind, namespace, name }: ObjectKey): ObjectAddress {
  const at = namespace === '' ? {} : { namespace };
  return { apiVersion: 'v1', resource: RESOURCES[kind], ...at, name };
}
