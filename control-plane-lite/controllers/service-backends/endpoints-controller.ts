/** Maintains the Endpoints of services with a selector. Source: upstream's endpoint controller, release
 *  1.24. */

import { isDeepStrictEqual } from 'node:util';
import type { Endpoints, Pod, Service } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { ObjectRef } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { backendOf } from './backends.ts';
import { type WantedEndpoints, wantedEndpoints } from './endpoints.ts';
import { followServices, type Services } from './follow.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly endpoints: Resource;
  readonly cached: Pick<ResourceCache, 'get'>;
  readonly services: Services;
  readonly client: ControllerClient;
  readonly queue: KeyQueue;
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

async function reconcile(parts: Parts, key: string): Promise<void> {
  const { services, deps, endpoints, cached, client, queue } = parts;
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
  const known = cached.get(key);
  if (known !== undefined && edited(known.object(), wanted, annotation) === known.object()) return;
  queue.expect(key);
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
    queue.add(key);
  }
}

export const endpointsController: Controller = defineController({
  name: 'endpoint',
  identity: 'endpoint-controller',
  watches: ['services', 'pods', 'endpoints'],
  writes: {
    endpoints: { create: true, delete: true, update: ['subsets', 'metadata.labels', 'metadata.annotations'] },
  },
  start(context) {
    const { client, queue } = context;
    const services = followServices(
      {
        services: context.cacheOf('services'),
        resource: context.resourceOf('services'),
        pods: context.cacheOf('pods'),
      },
      { onService: (key) => queue.add(key), onPods: (key) => queue.addSoon(key) },
    );
    const endpoints = context.resourceOf('endpoints');
    const cached = context.cacheOf('endpoints');
    const parts: Parts = { deps: context, endpoints, cached, services, client, queue };
    return { reconcile: (key) => reconcile(parts, key).then(() => undefined), follows: [services] };
  },
});
