/** How the parts that use configuration objects get at them, wherever they come from:
 *  manifests beside the pods, or the API server. `undefined` means that there is no such object. */
import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Secret,
  Service,
} from './gen/core-v1.ts';

export interface ObjectReader {
  getConfigMap(namespace: string, name: string): Promise<ConfigMap | undefined>;
  getSecret(namespace: string, name: string): Promise<Secret | undefined>;
  getPersistentVolumeClaim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined>;
  getPersistentVolume(name: string): Promise<PersistentVolume | undefined>;
  getEndpoints(namespace: string, name: string): Promise<Endpoints | undefined>;
  /** A service of the platform's own namespace. Absent where there are no services. */
  getSystemService?(name: string): Promise<Service | undefined>;
}
