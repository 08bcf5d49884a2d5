/** Maintains the EndpointSlices of services with a selector. Source: upstream's endpoint slice controller,
 *  release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Node, Pod, Service } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Child, type Children, childFacts, createChildren } from '../workloads-kit/children.ts';
import { controllerReference } from '../workloads-kit/claim.ts';
import { type ControllerClient, createControllerClient } from '../workloads-kit/controller-base.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import type { Owner } from '../workloads-kit/owners.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { backendOf, isHeadless } from './backends.ts';
import { followServices, type Services } from './follow.ts';
import type { SliceContent } from './pack-slices.ts';
import { decideSlices } from './slices.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly resource: Resource;
  readonly slices: Resource;
  readonly nodes: Resource;
  readonly known: Children<Child>;
  readonly services: Services;
  readonly client: ControllerClient;
  readonly loop: KeyLoop;
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

function zoneReader({ deps, nodes }: Parts): (nodeName: string) => string | undefined {
  const cache = deps.cache.resource(nodes.storage);
  const label = `topology.${deps.vocabulary.domain}/zone`;
  return (nodeName) => {
    const node = cache.get(nodeName);
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

async function visit(parts: Parts, key: string): Promise<void> {
  const { services, deps, slices, known, client, loop } = parts;
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
    { zoneOf: zoneReader(parts) },
  );
  const labels = labelsOf(service, marks);
  const relabel = own.filter((slice) => !isDeepStrictEqual({ ...slice.labels }, { ...labels }));
  const { namespace } = owner;
  const refTo = (name: string) => ({ resource: slices, namespace, name });
  const uidOf = (name: string): string => own.find((slice) => slice.name === name)?.uid ?? '';
  if (changes.create.length + changes.update.length + changes.remove.length + relabel.length > 0)
    loop.expect(key);
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

/** Runs until the signal is aborted. */
export async function runEndpointSlices(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const { cache, vocabulary } = deps;
  const resource = findResource(deps, 'v1', 'services');
  const pods = findResource(deps, 'v1', 'pods');
  const nodes = findResource(deps, 'v1', 'nodes');
  const slices = findResource(deps, `discovery.${vocabulary.apiGroupDomain}/v1`, 'endpointslices');
  if (resource === undefined || pods === undefined || nodes === undefined || slices === undefined) return;
  const client = createControllerClient(deps, 'endpoint-slice-controller', signal);
  const loop = createKeyLoop(deps, (key) => visit(parts, key).then(() => undefined));
  const services = followServices(
    { services: cache.resource(resource.storage), resource, pods: cache.resource(pods.storage) },
    { onService: (key) => loop.due(key), onPods: (key) => loop.dueSoon(key) },
  );
  const known = createChildren(cache.resource(slices.storage), childFacts);
  // A slice that another client changed or deleted is restored.
  known.onChange(({ previous, current }) => {
    const service = [...new Set([previous?.owner?.name, current?.owner?.name])];
    for (const name of service) {
      if (name !== undefined) loop.dueSoon(`${(current ?? previous)?.namespace ?? ''}/${name}`);
    }
  });
  const parts: Parts = { deps, resource, slices, nodes, known, services, client, loop };
  await loop.run(signal, services, known);
}
