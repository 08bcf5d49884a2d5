/** Provisioner of volumes on the disks of nodes, for the classes `local.<domain>/directory` and `/filesystem`. The
 *  agent of the node that the scheduler selected creates and removes them; this controller writes the objects. Both
 *  are safe to repeat, since the name of a volume follows from the uid of its claim. */
import type { Node, PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { StorageClass } from '#api/gen/storage-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { AgentCallError, type CallAgent, messageOf } from '../../agents/call-agent.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import {
  decideLeftovers,
  decideProvision,
  hostnameOf,
  hostnameOfVolume,
  isToDelete,
  type ProvisionAction,
  type ProvisionerNames,
  provisionerNames,
} from './decide.ts';
import { type Following, followProvisioning, type Work, workOf } from './follow.ts';
import { parseCreated, parseList, persistentVolumeFor } from './volume.ts';

type Watched = 'persistentvolumeclaims' | 'persistentvolumes' | 'storageclasses' | 'nodes';

interface Parts {
  readonly client: ControllerClient;
  readonly cache: WorkloadDeps['cache'];
  readonly names: ProvisionerNames;
  readonly call: CallAgent;
  readonly signal: AbortSignal;
  readonly resourceOf: (kind: 'persistentvolumeclaims' | 'persistentvolumes') => Resource;
  readonly cacheOf: (kind: Watched) => ResourceCache;
  readonly following: Following;
}

const path = (name: string): string => `/localVolumes/${encodeURIComponent(name)}`;

const find = ({ cacheOf }: Parts, kind: Watched, key: string): ApiObject | undefined =>
  cacheOf(kind).get(key)?.object();

function nodeOf(parts: Parts, name: string): Node | undefined {
  const object = find(parts, 'nodes', name);
  return object && typed<Node>(object);
}

function volumeOf(parts: Parts, name: string): PersistentVolume | undefined {
  const object = find(parts, 'persistentvolumes', name);
  return object && typed<PersistentVolume>(object);
}

function classOf(parts: Parts, name: string): StorageClass | undefined {
  const object = find(parts, 'storageclasses', name);
  return object && typed<StorageClass>(object);
}

function warn({ client }: Parts, object: ApiObject, reason: string, message: string): void {
  client.events.record(object, 'Warning', reason, message);
}

async function provision(
  parts: Parts,
  object: ApiObject,
  action: Extract<ProvisionAction, { readonly kind: 'provision' }>,
): Promise<void> {
  const { client, names, signal } = parts;
  const claim = typed<PersistentVolumeClaim>(object);
  const { node, volumeName: name, request } = action;
  const hostname = hostnameOf(nodeOf(parts, node) ?? {}, names) ?? '';
  const reply = await parts.call(node, { method: 'PUT', path: path(name), body: request }, signal);
  const created = reply.status === 200 ? parseCreated(reply.value) : undefined;
  if (created === undefined)
    throw new AgentCallError(`node ${node} cannot create the volume: ${messageOf(reply)}`);
  const volumes = parts.resourceOf('persistentvolumes');
  const provisioner = `${names.prefix}${request.kind}`;
  const volume = persistentVolumeFor(volumes, claim, names, {
    name,
    hostname,
    provisioner,
    request,
    created,
  });
  await client.verbs.create({
    ref: { resource: volumes, namespace: '', name },
    object: volume,
    dryRun: false,
    fieldManager: client.fieldManager,
    caller: client.caller,
  });
  client.events.record(object, 'Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${name}`);
}

async function reschedule({ client, resourceOf, names }: Parts, { metadata }: ApiObject): Promise<void> {
  const { namespace = '', name = '', uid } = metadata;
  await client.verbs.update({
    ref: { resource: resourceOf('persistentvolumeclaims'), namespace, name },
    change(live) {
      if (live.metadata.uid !== uid) throw new StatusError('Conflict', `${name} was replaced`);
      const { [names.selectedNode]: _, ...annotations } = live.metadata.annotations ?? {};
      live.metadata.annotations = annotations;
      return live;
    },
    dryRun: false,
    fieldManager: client.fieldManager,
    caller: client.caller,
  });
}

async function reconcileClaim(parts: Parts, key: string): Promise<void> {
  const object = find(parts, 'persistentvolumeclaims', key);
  if (object === undefined) return;
  const action = decideProvision(typed<PersistentVolumeClaim>(object), {
    names: parts.names,
    storageClass: (name) => classOf(parts, name),
    volume: (name) => volumeOf(parts, name),
    node: (name) => nodeOf(parts, name),
  });
  switch (action.kind) {
    case 'none':
      return;
    case 'reject':
      warn(parts, object, 'ProvisioningFailed', action.message);
      return;
    case 'reschedule':
      warn(parts, object, 'ProvisioningFailed', action.message);
      await reschedule(parts, object);
      return;
    case 'provision':
      try {
        await provision(parts, object, action);
      } catch (thrown) {
        if (thrown instanceof StatusError && thrown.reason === 'AlreadyExists') return;
        warn(parts, object, 'ProvisioningFailed', asError(thrown).message);
        throw thrown;
      }
      return;
    default:
      action satisfies never;
  }
}

/** Removes the volume on its node, then the object: as long as the object exists, removal is repeated. */
async function reconcileVolume(parts: Parts, name: string): Promise<void> {
  const { client, names, signal } = parts;
  const object = find(parts, 'persistentvolumes', name);
  if (object === undefined) return;
  const volume = typed<PersistentVolume>(object);
  if (!isToDelete(volume, names)) return;
  const hostname = hostnameOfVolume(volume, names);
  const node = hostname === undefined ? undefined : parts.following.nodeWith(hostname);
  if (node === undefined) {
    warn(parts, object, 'VolumeFailedDelete', `no node has the label ${names.hostname}=${hostname ?? ''}`);
    return;
  }
  try {
    const reply = await parts.call(node, { method: 'DELETE', path: path(name) }, signal);
    if (reply.status !== 200) throw new AgentCallError(messageOf(reply));
  } catch (thrown) {
    warn(parts, object, 'VolumeFailedDelete', `node ${node}: ${asError(thrown).message}`);
    throw thrown;
  }
  await client.verbs.delete({
    ref: { resource: parts.resourceOf('persistentvolumes'), namespace: '', name },
    preconditions: { uid: object.metadata.uid ?? '' },
    dryRun: false,
    caller: client.caller,
  });
}

async function reconcileNode(parts: Parts, node: string): Promise<void> {
  const { cache, call, signal, following } = parts;
  if (!following.usesClasses() || parts.cacheOf('nodes').get(node) === undefined) return;
  const listed = await call(node, { method: 'GET', path: '/localVolumes' }, signal);
  // Another agent, which has no such volumes.
  if (listed.status !== 200) return;
  await cache.waitForNewest();
  const isKnown = (name: string): boolean =>
    following.isClaimed(name) || parts.cacheOf('persistentvolumes').get(name) !== undefined;
  for (const name of decideLeftovers(parseList(listed.value), isKnown))
    await call(node, { method: 'DELETE', path: path(name) }, signal);
}

const RECONCILE: Readonly<Record<Work['kind'], (parts: Parts, key: string) => Promise<void>>> = {
  claim: reconcileClaim,
  volume: reconcileVolume,
  node: reconcileNode,
};

export const localProvisionerController: Controller = defineController({
  name: 'local-provisioner',
  identity: 'local-volume-provisioner',
  watches: ['nodes', 'persistentvolumeclaims', 'persistentvolumes', 'storageclasses'],
  writes: {
    persistentvolumeclaims: { update: ['metadata.annotations'] },
    persistentvolumes: { create: true, delete: true },
  },
  recordsEvents: true,
  start(context) {
    const { client, queue, cache, signal, settings, vocabulary } = context;
    const names = provisionerNames(vocabulary);
    const following = followProvisioning(
      (kind) => context.cacheOf(kind),
      names,
      (key) => queue.add(key),
    );
    const parts: Parts = {
      client,
      following,
      cache,
      names,
      signal,
      call: settings.callAgent,
      resourceOf: (kind) => context.resourceOf(kind),
      cacheOf: (kind) => context.cacheOf(kind),
    };
    return {
      async reconcile(key) {
        const work = workOf(key);
        queue.expect(key);
        await RECONCILE[work.kind](parts, work.key);
        return undefined;
      },
      follows: following.handles,
    };
  },
});
