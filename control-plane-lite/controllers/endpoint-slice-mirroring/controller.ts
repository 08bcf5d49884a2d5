/** Mirrors user-managed Endpoints to EndpointSlices, which service proxies read. Source: upstream's
 *  EndpointSlice mirroring controller, release 1.24. */

import { isDeepStrictEqual } from 'node:util';
import type { Endpoints, Service } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import { CLIENT_SIDE_APPLY } from '#api/vocabulary.ts';
import type { CachedObject } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import type { ObjectRef } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { packSlices } from '../service-backends/pack-slices.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { type Child, type Children, childFacts, createChildren } from '../workloads-kit/children.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { isMirrored, type MirrorNames, mirroredGroups, mirroredMetadata } from './mirror.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly services: Resource;
  readonly endpoints: Resource;
  readonly slices: Resource;
  readonly known: Children<Child>;
  readonly names: MirrorNames;
  readonly client: ControllerClient;
  readonly queue: KeyQueue;
}

const namesOf = ({ vocabulary: { domain, apiGroupDomain } }: WorkloadDeps): MirrorNames => ({
  skipLabel: `endpointslice.${domain}/skip-mirror`,
  serviceLabel: `${domain}/service-name`,
  managerLabel: `endpointslice.${domain}/managed-by`,
  manager: `endpointslicemirroring-controller.${apiGroupDomain}`,
  leaderAnnotation: `control-plane.alpha.${domain}/leader`,
  ownAnnotations: [
    `endpoints.${domain}/last-change-trigger-time`,
    ...CLIENT_SIDE_APPLY.map(({ annotation }) => annotation),
  ],
});

const refOf = ({ slices }: Parts, namespace: string, name: string): ObjectRef => ({
  resource: slices,
  namespace,
  name,
});

async function remove(parts: Parts, slice: Child): Promise<void> {
  const request = { dryRun: false, preconditions: { uid: slice.uid } };
  const ref = refOf(parts, slice.namespace, slice.name);
  await unlessGone(() => parts.deps.verbs.delete({ ...request, ref, caller: parts.client.caller }));
}

/** Writes the changes that lead from the current slices to those that mirror the object. */
async function mirror(parts: Parts, cached: CachedObject, own: readonly Child[]): Promise<void> {
  const { deps, endpoints: resource, names, client, queue } = parts;
  const endpoints = typed<Endpoints>(cached.object());
  const sliceOf = ({ cached: slice }: Child): EndpointSlice => typed<EndpointSlice>(slice.object());
  const changes = packSlices(
    mirroredGroups(endpoints),
    own.map((child) => ({ name: child.name, slice: sliceOf(child) })),
    { placeholders: [] },
  );
  const { labels, annotations } = mirroredMetadata(endpoints, names);
  const stale = own.filter((child) => {
    const { metadata = {} } = sliceOf(child);
    return (
      !isDeepStrictEqual({ ...child.labels }, labels) ||
      !isDeepStrictEqual({ ...metadata.annotations }, annotations)
    );
  });
  const { namespace, name, key } = cached;
  if (changes.create.length + changes.update.length + changes.remove.length + stale.length > 0) {
    queue.expect(key);
  }
  for (const content of changes.create) {
    const slice: ApiObject = {
      apiVersion: `discovery.${deps.vocabulary.apiGroupDomain}/v1`,
      kind: 'EndpointSlice',
      metadata: {
        generateName: `${name}-`,
        namespace,
        labels: { ...labels },
        annotations: { ...annotations },
        ownerReferences: [controllerReference(resource, cached.object())],
      },
      ...content,
    };
    const options = { dryRun: false, fieldManager: client.fieldManager };
    await deps.verbs.create({
      ...options,
      ref: refOf(parts, namespace, ''),
      object: slice,
      caller: client.caller,
    });
  }
  for (const child of own) {
    const content = changes.update.find((update) => update.name === child.name)?.content;
    if (changes.remove.includes(child.name) || (content === undefined && !stale.includes(child))) continue;
    await changeObject(client, refOf(parts, namespace, child.name), child.uid, (draft) => {
      if (content !== undefined) draft['endpoints'] = content.endpoints;
      draft.metadata.labels = { ...labels };
      draft.metadata.annotations = { ...annotations };
    });
  }
  for (const child of own) if (changes.remove.includes(child.name)) await remove(parts, child);
}

async function reconcile(parts: Parts, key: string): Promise<void> {
  const { deps, services, endpoints, known, names } = parts;
  const cached = deps.cache.resource(endpoints.storage).get(key);
  // The garbage collector deletes slices of deleted Endpoints.
  if (cached === undefined) return;
  const { metadata } = cached.object();
  const own = known
    .ofOwner(metadata.uid ?? '')
    .filter(({ labels, deleting }) => labels[names.managerLabel] === names.manager && !deleting);
  const service = deps.cache.resource(services.storage).get(key);
  const found = service === undefined ? undefined : typed<Service>(service.object());
  if (isMirrored(found, typed<Endpoints>(cached.object()), names)) return mirror(parts, cached, own);
  if (own.length > 0) parts.queue.expect(key);
  for (const slice of own) await remove(parts, slice);
}

export const endpointSliceMirroringController: Controller = defineController({
  name: 'endpointslicemirroring',
  identity: 'endpoint-slice-mirroring-controller',
  watches: ['services', 'endpoints', 'endpointslices'],
  writes: {
    endpointslices: {
      create: true,
      delete: true,
      update: ['endpoints', 'metadata.labels', 'metadata.annotations'],
    },
  },
  start(context) {
    const { queue, client } = context;
    const slices = createChildren(context.cacheOf('endpointslices'), childFacts);
    const parts: Parts = {
      deps: context,
      services: context.resourceOf('services'),
      endpoints: context.resourceOf('endpoints'),
      slices: context.resourceOf('endpointslices'),
      known: slices,
      names: namesOf(context),
      client,
      queue,
    };
    // A slice that another client changed or deleted is restored.
    slices.onChange(({ previous, current }) => {
      for (const slice of [previous, current]) {
        if (slice?.owner?.kind === 'Endpoints') queue.addSoon(`${slice.namespace}/${slice.owner.name}`);
      }
    });
    const follows = (['endpoints', 'services'] as const).map((kind) =>
      context.cacheOf(kind).follow(({ current }) => queue.addSoon(current.key)),
    );
    return { reconcile: (key) => reconcile(parts, key).then(() => undefined), follows: [slices, ...follows] };
  },
});
