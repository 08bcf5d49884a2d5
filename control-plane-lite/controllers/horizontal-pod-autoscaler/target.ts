/** Target of an autoscaler: finds and sets the size of any kind with a scale subresource, local or aggregated. */
import type { Scale } from '#api/gen/autoscaling-v1.ts';
import type { CrossVersionObjectReference } from '#api/gen/autoscaling-v2.ts';
import { notFound } from '#api/meta/status-errors.ts';
import { decode } from '#api/schema/decode.ts';
import type { Cache } from '../../cache/contract.ts';
import { createScaleMapping, type ScaleMapping } from '../../endpoints/scale-mapping.ts';
import { scaleView } from '../../endpoints/scale-view.ts';
import type { ObjectSchema, Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { typed } from '../../resources/view.ts';
import type { AggregatedApis, AggregatedKind } from '../skeleton/settings.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';

/** The target, or its size, cannot be found. */
class TargetError extends Error {
  override readonly name = 'TargetError';
}

export interface Target {
  readonly specReplicas: number;
  readonly statusReplicas: number;
  /** Selector of its pods as text; empty: it has none. */
  readonly selector: string;
  /** @throws Error */
  setReplicas(replicas: number): Promise<void>;
}

export interface TargetDeps {
  readonly registry: Pick<ResourceRegistry, 'all'>;
  readonly cache: Pick<Cache, 'resource'>;
  readonly client: ControllerClient;
  readonly scaleSchema: ObjectSchema;
  readonly aggregated: AggregatedApis | undefined;
  readonly signal: AbortSignal;
}

const NO_SCALE = 'the server could not find the requested resource';
/** A Scale of a newer server is a Scale as well. */
const DECODING = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

/** Returns the API group. @throws TargetError */
export function groupOf(apiVersion = ''): string {
  const parts = apiVersion.split('/');
  if (parts.length > 2) throw new TargetError(`unexpected GroupVersion string: ${apiVersion}`);
  return parts.length === 2 ? (parts[0] ?? '') : '';
}

/** Returns the resource of a kind, in its stored version if that can be scaled; one version is as good as any other. */
export function localResource(
  registry: Pick<ResourceRegistry, 'all'>,
  group: string,
  kind: string,
): Resource | undefined {
  const versions = registry.all().filter(({ info }) => info.group === group && info.kind === kind);
  const stored = versions.map((each) => each.stored ?? each);
  const scalable = [...stored, ...versions].find(({ info }) => info.subresources.has('scale'));
  return scalable ?? versions[0];
}

const toTarget = ({ spec, status }: Scale, setReplicas: Target['setReplicas']): Target => ({
  specReplicas: spec?.replicas ?? 0,
  statusReplicas: status?.replicas ?? 0,
  selector: status?.selector ?? '',
  setReplicas,
});

/** @throws TargetError, StatusError */
function localTarget(deps: TargetDeps, resource: Resource, namespace: string, name: string): Target {
  const { info, storage } = resource;
  if (!info.subresources.has('scale') || !info.namespaced) throw new TargetError(NO_SCALE);
  const object = deps.cache.resource(storage).get(`${namespace}/${name}`)?.object();
  if (object === undefined) throw notFound({ group: info.group, name: info.plural }, name);
  const mapping: ScaleMapping = { ...createScaleMapping(deps.scaleSchema), ...resource.scale };
  const scale = mapping.scaleOf(object);
  return toTarget(typed<Scale>(scale), async (replicas) => {
    const { verbs, caller, fieldManager } = deps.client;
    await verbs.update({
      ref: { resource, namespace, name },
      dryRun: false,
      fieldManager,
      caller,
      subresource: 'scale',
      view: scaleView(mapping),
      change(live) {
        const wanted = mapping.scaleOf(live);
        mapping.apply(live, { ...wanted, spec: { replicas } });
        return live;
      },
    });
  });
}

/** @throws TargetError */
async function remoteTarget(
  { aggregated, signal }: TargetDeps,
  { group, version, plural }: AggregatedKind,
  namespace: string,
  name: string,
): Promise<Target> {
  if (aggregated === undefined) throw new TargetError(NO_SCALE);
  const path = `/namespaces/${namespace}/${plural}/${encodeURIComponent(name)}/scale`;
  const scale = await aggregated.send({ group, version, method: 'GET', path }, signal);
  const { value: given, errors } = decode<Scale>('autoscaling/v1.Scale', scale, DECODING);
  if (errors.length > 0) throw new TargetError('the response is not a Scale');
  return toTarget(given, async (replicas) => {
    const body = { ...given, spec: { ...given.spec, replicas } };
    await aggregated.send({ group, version, method: 'PUT', path, body }, signal);
  });
}

/** @throws TargetError, StatusError, or another Error if a server does not respond */
export async function findTarget(
  deps: TargetDeps,
  namespace: string,
  { apiVersion, kind, name }: CrossVersionObjectReference,
): Promise<Target> {
  const group = groupOf(apiVersion);
  const resource = localResource(deps.registry, group, kind);
  if (resource !== undefined) return localTarget(deps, resource, namespace, name);
  const remote = deps.aggregated?.findKind(group, kind);
  if (remote !== undefined) return remoteTarget(deps, remote, namespace, name);
  const place =
    group === '' ? `version ${JSON.stringify(apiVersion ?? '')}` : `group ${JSON.stringify(group)}`;
  throw new TargetError(`no matches for kind ${JSON.stringify(kind)} in ${place}`);
}
