/** Keeps the Endpoints of services that select pods. Source: upstream's endpoint controller, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import { StatusError } from '#api/meta/status-error.ts';
import type { Endpoints, Pod, Service } from '#api/schema/gen/core-v1.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { ObjectRef } from '../../verbs/contract.ts';
import { unlessGone } from '../unless-gone.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { createHands, type Hands } from '../workloads-kit/family.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { backendOf } from './backends.ts';
import { type WantedEndpoints, wantedEndpoints } from './endpoints.ts';
import { followServices, type Services } from './follow.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly endpoints: Resource;
  readonly services: Services;
  readonly hands: Hands;
  readonly loop: KeyLoop;
}

/** What tells of addresses that had to be left out. */
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

/** The object as it should be; the very one if it is so already. */
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

async function remove({ deps, endpoints, hands }: Parts, key: string): Promise<void> {
  await unlessGone(() => deps.verbs.delete(refOfKey(endpoints, key), { dryRun: false }, hands.caller));
}

async function visit(parts: Parts, key: string): Promise<void> {
  const { services, deps, endpoints, hands, loop } = parts;
  const owner = services.get(key);
  if (owner === undefined) return remove(parts, key);
  const service = typed<Service>(owner.cached.object());
  // Without a selector they are somebody else's.
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
  const options = { dryRun: false, fieldManager: hands.fieldManager };
  if (known !== undefined) {
    await unlessGone(() => deps.verbs.update(ref, change, { ...options, allowCreate: false }, hands.caller));
    return;
  }
  try {
    await deps.verbs.create(ref, change(undefined), options, hands.caller);
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
    loop.due(key);
  }
}

/** Works until the signal fires. */
export async function runEndpoints(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const resource = findResource(deps, 'v1', 'services');
  const pods = findResource(deps, 'v1', 'pods');
  const endpoints = findResource(deps, 'v1', 'endpoints');
  if (resource === undefined || pods === undefined || endpoints === undefined) return;
  const hands = createHands(deps, 'endpoint-controller', signal);
  const loop = createKeyLoop(deps, (key) => visit(parts, key).then(() => undefined));
  const services = followServices(
    { services: deps.cache.resource(resource.storage), resource, pods: deps.cache.resource(pods.storage) },
    { onService: (key) => loop.due(key), onPods: (key) => loop.dueSoon(key) },
  );
  const parts: Parts = { deps, endpoints, services, hands, loop };
  await loop.run(signal, services);
}
