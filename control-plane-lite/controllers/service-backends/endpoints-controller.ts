/** Maintains the Endpoints of services with a selector. Source: upstream's endpoint controller, release
 *  1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Endpoints, Pod, Service } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { ObjectRef } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type ControllerClient, createControllerClient } from '../workloads-kit/controller-base.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { backendOf } from './backends.ts';
import { type WantedEndpoints, wantedEndpoints } from './endpoints.ts';
import { followServices, type Services } from './follow.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly endpoints: Resource;
  readonly services: Services;
  readonly client: ControllerClient;
  readonly loop: KeyLoop;
}

/** Annotation for truncated addresses. */
const OVER_CAPACITY = 'endpoints.{domain}/over-capacity';

const refOfKey = (resource: Resource, key: string): ObjectRef => {
  const [namespace = '', name = ''] = key.split('/');
  return { resource, namespace, name };
};

function annotationsWith(
  before: Readonly<Record<string, string>> | undefined,
  name: string,
  truncated: boolean,
): Readonly<Record<string, string>> {
  const { [name]: _, ...others } = before ?? {};
  return truncated ? { ...others, [name]: 'truncated' } : others;
}

/** The desired object; the same reference if nothing changes. */
function edited(
  live: ApiObject,
  { labels, subsets, truncated }: WantedEndpoints,
  annotation: string,
): ApiObject {
  const { subsets: before = [], metadata = {} } = typed<Endpoints>(live);
  const annotations = annotationsWith(metadata.annotations, annotation, truncated);
  const same =
    isDeepStrictEqual(before, subsets) &&
    isDeepStrictEqual(metadata.labels ?? {}, labels) &&
    isDeepStrictEqual(metadata.annotations ?? {}, annotations);
  if (same) return live;
  return {
    ...live,
    metadata: { ...live.metadata, labels: { ...labels }, annotations: { ...annotations } },
    subsets,
  };
}

async function remove({ deps, endpoints, client }: Parts, key: string): Promise<void> {
  await unlessGone(() =>
    deps.verbs.delete({ ref: refOfKey(endpoints, key), dryRun: false, caller: client.caller }),
  );
}

async function visit(parts: Parts, key: string): Promise<void> {
  const { services, deps, endpoints, client, loop } = parts;
  const owner = services.get(key);
  if (owner === undefined) return remove(parts, key);
  const service = typed<Service>(owner.cached.object());
  // Endpoints of a service without a selector have another owner.
  if (owner.requirements.length === 0) return;
  const backends = services
    .podsOf(owner)
    .flatMap((pod) => backendOf(service, typed<Pod>(pod.object())) ?? []);
  const { domain } = deps.vocabulary;
  const wanted = wantedEndpoints(service, backends, domain);
  const annotation = OVER_CAPACITY.replace('{domain}', domain);
  const ref = refOfKey(endpoints, key);
  const known = deps.cache.resource(endpoints.storage).get(key);
  if (known !== undefined && edited(known.object(), wanted, annotation) === known.object()) return;
  loop.expect(key);
  const change = (live: ApiObject | undefined): ApiObject =>
    edited(
      live ?? { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: ref.name, namespace: ref.namespace } },
      wanted,
      annotation,
    );
  const options = { dryRun: false, fieldManager: client.fieldManager };
  if (known !== undefined) {
    await unlessGone(() => deps.verbs.update({ ref, change, ...options, caller: client.caller }));
    return;
  }
  try {
    await deps.verbs.create({ ...options, ref, object: change(undefined), caller: client.caller });
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
    loop.due(key);
  }
}

/** Runs until the signal is aborted. */
export async function runEndpoints(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const resource = findResource(deps, 'v1', 'services');
  const pods = findResource(deps, 'v1', 'pods');
  const endpoints = findResource(deps, 'v1', 'endpoints');
  if (resource === undefined || pods === undefined || endpoints === undefined) return;
  const client = createControllerClient(deps, 'endpoint-controller', signal);
  const loop = createKeyLoop(deps, (key) => visit(parts, key).then(() => undefined));
  const services = followServices(
    { services: deps.cache.resource(resource.storage), resource, pods: deps.cache.resource(pods.storage) },
    { onService: (key) => loop.due(key), onPods: (key) => loop.dueSoon(key) },
  );
  const parts: Parts = { deps, endpoints, services, client, loop };
  await loop.run(signal, services);
}
