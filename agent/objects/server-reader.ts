/** Typed reader for objects of API pods. */

import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
} from '#api/gen/core-v1.ts';
import { decode } from '#api/schema/decode.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import { type ObjectKey, type ObjectKind, objectReferences } from './references.ts';
import type { ServerObjects } from './server-objects.ts';

/** Drops fields of newer servers that this version does not know. */
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

/** @param systemNamespace system namespace of the vocabulary */
export function createServerReader(
  objects: Pick<ServerObjects, 'get'>,
  systemNamespace: string,
): ObjectReader {
  async function get<T>(kind: ObjectKind, namespace: string, name: string): Promise<T | undefined> {
    const object = await objects.get({ kind, namespace, name });
    return object === undefined ? undefined : decode<T>(`core/v1.${kind}`, object, LENIENT).value;
  }
  return {
    getConfigMap: (namespace, name) => get<ConfigMap>('ConfigMap', namespace, name),
    getSecret: (namespace, name) => get<Secret>('Secret', namespace, name),
    getPersistentVolumeClaim: (namespace, name) =>
      get<PersistentVolumeClaim>('PersistentVolumeClaim', namespace, name),
    getPersistentVolume: (name) => get<PersistentVolume>('PersistentVolume', '', name),
    getEndpoints: (namespace, name) => get<Endpoints>('Endpoints', namespace, name),
    getSystemService: (name) => get<Service>('Service', systemNamespace, name),
  };
}

/** Returns the references of all pods that have not ended. */
export function namedObjects(pods: readonly Pod[]): readonly ObjectKey[] {
  return pods
    .filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed')
    .flatMap(objectReferences)
    .filter(({ kind }) => kind !== 'PersistentVolume');
}
