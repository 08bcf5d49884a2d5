/** Desired number of pods of a pod's controller. For a ReplicaSet of a Deployment, the Deployment decides. */
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { Cache, CachedObject } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { scaleOf } from '../../resources/scale.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import type { Scaler } from './decide.ts';

export interface ScalersDeps {
  readonly registry: Pick<ResourceRegistry, 'findKind' | 'find'>;
  readonly cache: Pick<Cache, 'resource'>;
}

/** The desired number of pods of a controller cannot be determined. */
export class ScaleError extends Error {
  override readonly name = 'ScaleError';
}

interface Found {
  readonly resource: Resource;
  readonly object: ApiObject;
}

/** The object of a reference in the stored version. */
function findOwner(
  { registry, cache }: ScalersDeps,
  namespace: string,
  { apiVersion, kind, name, uid }: OwnerReference,
): Found | undefined {
  const served = registry.findKind(apiVersion, kind);
  if (served === undefined) return undefined;
  const key = served.info.namespaced ? `${namespace}/${name}` : name;
  const cached: CachedObject | undefined = cache.resource(served.storage).get(key);
  const object = cached?.object();
  if (object === undefined || object.metadata.uid !== uid) return undefined;
  return { resource: served.stored ?? served, object };
}

function replicasOf({ resource, object }: Found): number {
  const { kind, plural, subresources } = resource.info;
  if (!subresources.has('scale')) {
    throw new ScaleError(
      `${kind} ${object.metadata.name ?? ''}: ${plural} do not implement the scale subresource`,
    );
  }
  const { spec } = resource.scale === undefined ? scaleOf(object) : resource.scale.scaleOf(object);
  const replicas = isMutableObject(spec) ? spec['replicas'] : undefined;
  return typeof replicas === 'number' ? replicas : 0;
}

const controllerOf = ({ metadata }: ApiObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

const isDeployed = ({ resource }: Found, { kind, apiVersion }: OwnerReference): boolean =>
  resource.info.kind === 'ReplicaSet' && kind === 'Deployment' && apiVersion.startsWith('apps/');

/** Returns the scaler of a pod's controller. @throws ScaleError if the controller is missing or cannot be
 *  scaled */
export function findScaler(deps: ScalersDeps, { namespace, name, owner }: PodFacts): Scaler {
  const found = owner && findOwner(deps, namespace, owner);
  if (owner === undefined || found === undefined) {
    throw new ScaleError(`found no controllers for pod "${name}"`);
  }
  const above = controllerOf(found.object);
  if (above === undefined || !isDeployed(found, above))
    return { uid: owner.uid, replicas: replicasOf(found) };
  const deployment = findOwner(deps, namespace, above);
  if (deployment === undefined) throw new ScaleError(`found no controllers for pod "${name}"`);
  return { uid: above.uid, replicas: replicasOf(deployment) };
}
