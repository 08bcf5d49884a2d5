/** Interface for reading configuration objects, whatever their source: manifests beside the pods, or the API
 *  server. `undefined` means that the object does not exist. */
import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  Service,
} from '../gen/core-v1.ts';

export interface ObjectReader {
  getConfigMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  getSecret(namespace: string, name: string): Promise<Secret | undefined>;
  getPersistentVolumeClaim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined>;
  getPersistentVolume(name: string): Promise<PersistentVolume | undefined>;
  getEndpoints(namespace: string, name: string): Promise<Endpoints | undefined>;
  /** Returns a service of the platform's own namespace. Absent if services are not supported. */
  getSystemService?(name: string): Promise<Service | undefined>;
}
