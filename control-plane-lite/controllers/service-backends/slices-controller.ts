/** Maintains the EndpointSlices of services with a selector. Source: upstream's endpoint slice controller,
 *  release 1.24. */

import { isDeepStrictEqual } from 'node:util';
import type { Node, Pod, Service } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { type Child, type Children, childFacts, createChildren } from '../workloads-kit/children.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { Owner } from '../workloads-kit/owners.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { backendOf, isHeadless } from './backends.ts';
import { followServices, type Services } from './follow.ts';
import type { SliceContent } from './pack-slices.ts';
import { decideSlices } from './slices.ts';
import { followZones, type Zones } from './zones.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly resource: Resource;
  readonly slices: Resource;
  readonly nodes: Pick<ResourceCache, 'get'>;
  readonly zones: Zones;
  readonly known: Children<Child>;
  readonly services: Services;
  readonly client: ControllerClient;
  readonly queue: KeyQueue;
}

/** Labels that mark a slice as managed by this controller. */
interface Marks {
  readonly serviceLabel: string;
  readonly managerLabel: string;
  readonly manager: string;
  readonly headlessLabel: string;
}

const marksOf = ({ vocabulary: { domain, apiGroupDomain } }: WorkloadDeps): Marks => ({
  serviceLabel: `${domain}/service-name`,
  managerLabel: `endpointslice.${domain}/managed-by`,
  manager: `endpointslice-controller.${apiGroupDomain}`,
  headlessLabel: `service.${domain}/headless`,
});

function labelsOf(service: Service, marks: Marks): Readonly<Record<string, string>> {
  return {
    ...service.metadata?.labels,
    ...(isHeadless(service) ? { [marks.headlessLabel]: '' } : {}),
    [marks.serviceLabel]: service.metadata?.name ?? '',
    [marks.managerLabel]: marks.manager,
  };
}

const HINTS: ReadonlySet<string> = new Set(['auto', 'Auto']);

/** Reports whether the service asks for topology hints, and the gate is on. */
function wantsHints({ metadata }: Service, { gates, vocabulary }: WorkloadDeps): boolean {
  const annotation = metadata?.annotations?.[`service.${vocabulary.domain}/topology-aware-hints`] ?? '';
  return gates.has('TopologyAwareHints') && HINTS.has(annotation);
}

function zoneReader({ deps, nodes }: Parts): (nodeName: string) => string | undefined {
  const label = `topology.${deps.vocabulary.domain}/zone`;
  return (nodeName) => {
    const node = nodes.get(nodeName);
    return node === undefined ? undefined : typed<Node>(node.object()).metadata?.labels?.[label];
  };
}

function sliceObject(parts: Parts, owner: Owner, content: SliceContent): ApiObject {
  const { namespace, name } = owner.cached;
  return {
    apiVersion: `discovery.${parts.deps.vocabulary.apiGroupDomain}/v1`,
    kind: 'EndpointSlice',
    metadata: {
      generateName: `${name}-`,
      namespace,
      labels: { ...labelsOf(typed<Service>(owner.cached.object()), marksOf(parts.deps)) },
      ownerReferences: [controllerReference(parts.resource, owner.cached.object())],
    },
    ...content,
  };
}

async function reconcile(parts: Parts, key: string): Promise<void> {
  const { services, deps, slices, known, client, queue } = parts;
  const owner = services.get(key);
  // The garbage collector deletes slices of deleted services.
  if (owner === undefined || owner.requirements.length === 0) return;
  const service = typed<Service>(owner.cached.object());
  if (service.spec?.type === 'ExternalName') return;
  const marks = marksOf(deps);
  const own = known
    .ofOwner(owner.uid)
    .filter(({ labels, deleting }) => labels[marks.managerLabel] === marks.manager && !deleting);
  const backends = services
    .podsOf(owner)
    .flatMap((pod) => backendOf(service, typed<Pod>(pod.object())) ?? []);
  const changes = decideSlices(
    service,
    backends,
    own.map(({ name, cached }) => ({ name, slice: typed<EndpointSlice>(cached.object()) })),
    {
      zoneOf: zoneReader(parts),
      conditions: deps.gates.has('EndpointSliceTerminatingCondition'),
      shares: wantsHints(service, deps) ? parts.zones.shares() : undefined,
    },
  );
  const labels = labelsOf(service, marks);
  const relabel = own.filter((slice) => !isDeepStrictEqual({ ...slice.labels }, { ...labels }));
  const { namespace } = owner;
  const refTo = (name: string) => ({ resource: slices, namespace, name });
  const uidOf = (name: string): string => own.find((slice) => slice.name === name)?.uid ?? '';
  if (changes.create.length + changes.update.length + changes.remove.length + relabel.length > 0)
    queue.expect(key);
  for (const content of changes.create) {
    const options = { dryRun: false, fieldManager: client.fieldManager };
    await deps.verbs.create({
      ...options,
      ref: refTo(''),
      object: sliceObject(parts, owner, content),
      caller: client.caller,
    });
  }
  for (const { name, content } of changes.update) {
    await changeObject(client, refTo(name), uidOf(name), (draft) => {
      draft['endpoints'] = content.endpoints;
    });
  }
  for (const { name, uid } of relabel) {
    await changeObject(client, refTo(name), uid, (draft) => {
      draft.metadata.labels = { ...labels };
    });
  }
  for (const name of changes.remove) {
    const request = { dryRun: false, preconditions: { uid: uidOf(name) } };
    await unlessGone(() => deps.verbs.delete({ ...request, ref: refTo(name), caller: client.caller }));
  }
}

export const endpointSliceController: Controller = defineController({
  name: 'endpointslice',
  identity: 'endpoint-slice-controller',
  watches: ['services', 'pods', 'nodes', 'endpointslices'],
  writes: { endpointslices: { create: true, delete: true, update: ['endpoints', 'metadata.labels'] } },
  start(context) {
    const { client, queue } = context;
    const resource = context.resourceOf('services');
    const services = followServices(
      { services: context.cacheOf('services'), resource, pods: context.cacheOf('pods') },
      { onService: (key) => queue.add(key), onPods: (key) => queue.addSoon(key) },
    );
    const known = createChildren(context.cacheOf('endpointslices'), childFacts);
    // A slice that another client changed or deleted is restored.
    known.onChange(({ previous, current }) => {
      const service = [...new Set([previous?.owner?.name, current?.owner?.name])];
      for (const name of service) {
        if (name !== undefined) queue.addSoon(`${(current ?? previous)?.namespace ?? ''}/${name}`);
      }
    });
    const zones = followZones(context.cacheOf('nodes'), context.vocabulary, () => {
      for (const { key, cached } of services.all()) {
        if (wantsHints(typed<Service>(cached.object()), context)) queue.addSoon(key);
      }
    });
    const parts: Parts = {
      deps: context,
      resource,
      slices: context.resourceOf('endpointslices'),
      nodes: context.cacheOf('nodes'),
      known,
      zones,
      services,
      client,
      queue,
    };
    return {
      reconcile: (key) => reconcile(parts, key).then(() => undefined),
      follows: [services, known, zones],
    };
  },
});
