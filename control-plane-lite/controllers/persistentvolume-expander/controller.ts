/** Volume expansion: expands volumes whose claims request more, as far as the control plane is responsible;
 *  the node does the rest. */

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimCondition,
} from '#api/gen/core-v1.ts';
import { migrateSource } from '#api/meta/csi-migration.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { membersOf, typed } from '../../resources/view.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { withoutCondition } from '../workloads-kit/conditions.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { decideExpansion, type ExpandAction, type ExpandView, expanderNames } from './decide.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly client: ControllerClient;
  readonly claims: Resource;
  readonly volumes: Resource;
  readonly cachedClaims: Pick<ResourceCache, 'get'>;
  readonly cachedVolumes: Pick<ResourceCache, 'get'>;
  readonly view: ExpandView;
  readonly queue: KeyQueue;
  /** Sizes already reported as waiting for an external resizer, by claim. */
  readonly reportedSizes: Map<string, string>;
}

const RESIZE_CONDITIONS = ['Resizing', 'FileSystemResizePending'];
const PENDING = 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.';

/** Replaces the claim's resize conditions and leaves the others. */
function setCondition(draft: ApiObject, type: string, nowMs: number, more: object = {}): void {
  const status = membersOf(draft, 'status');
  const { conditions = [] } = typed<PersistentVolumeClaim>(draft).status ?? {};
  const others = RESIZE_CONDITIONS.reduce<readonly PersistentVolumeClaimCondition[]>(
    (left, each) => withoutCondition(left, each),
    conditions,
  );
  const now = formatTime(nowMs);
  status['conditions'] = [...others, { type, status: 'True', lastTransitionTime: now, ...more }];
}

function setAnnotation({ metadata }: ApiObject, name: string, value: string | undefined): void {
  const { [name]: _, ...others } = metadata.annotations ?? {};
  const next = value === undefined ? others : { ...others, [name]: value };
  if (Object.keys(next).length > 0) metadata.annotations = next;
  else delete metadata.annotations;
}

async function changeVolume(
  { client, volumes }: Parts,
  { metadata: { name = '', uid = '' } }: ApiObject,
  change: (draft: ApiObject) => void,
): Promise<void> {
  await changeObject(client, { resource: volumes, namespace: '', name }, uid, change);
}

/** @throws StatusError */
async function execute(
  parts: Parts,
  action: ExpandAction,
  claim: ApiObject,
  volume: ApiObject,
): Promise<void> {
  const { client, claims, deps, reportedSizes } = parts;
  const { names } = parts.view;
  const { namespace = '', name = '', uid = '' } = claim.metadata;
  const key = `${namespace}/${name}`;
  const changeClaim = (change: (draft: ApiObject) => void, part?: 'status'): Promise<void> =>
    changeObject(client, { resource: claims, namespace, name }, uid, change, part);
  switch (action.kind) {
    case 'none':
      return;
    case 'external':
      if (reportedSizes.get(key) === `${uid} ${action.size}`) return;
      if (action.resizer !== undefined) {
        await changeClaim((draft) => setAnnotation(draft, names.resizer, action.resizer));
      }
      reportedSizes.set(key, `${uid} ${action.size}`);
      client.events.record(claim, 'Normal', 'ExternalExpanding', action.message);
      return;
    case 'begin':
      await changeClaim((draft) => setAnnotation(draft, names.resizer, action.resizer));
      await changeClaim((draft) => setCondition(draft, 'Resizing', deps.clock.now()), 'status');
      return;
    case 'grow':
      await changeVolume(parts, volume, (draft) => {
        setAnnotation(draft, names.sizeBefore, action.sizeBefore);
        membersOf(membersOf(draft, 'spec'), 'capacity')['storage'] = action.size;
      });
      return;
    case 'leaveToNode':
      await changeClaim(
        (draft) => setCondition(draft, 'FileSystemResizePending', deps.clock.now(), { message: PENDING }),
        'status',
      );
      return;
    case 'finish':
      await changeVolume(parts, volume, (draft) => setAnnotation(draft, names.sizeBefore, undefined));
      return;
    default:
      action satisfies never;
  }
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { cachedClaims, cachedVolumes, view, queue, reportedSizes } = parts;
  const claim = cachedClaims.get(key)?.object();
  if (claim === undefined) {
    reportedSizes.delete(key);
    return undefined;
  }
  const name = typed<PersistentVolumeClaim>(claim).spec?.volumeName ?? '';
  const volume = cachedVolumes.get(name)?.object();
  if (volume === undefined) return undefined;
  const action = decideExpansion(typed<PersistentVolumeClaim>(claim), typed<PersistentVolume>(volume), view);
  const writes = action.kind !== 'none' && action.kind !== 'external';
  if (writes) queue.expect(key);
  await execute(parts, action, claim, volume);
  return writes ? 0 : undefined;
}

export const volumeExpanderController: Controller = defineController({
  name: 'persistentvolume-expander',
  identity: 'volume_expand',
  watches: ['persistentvolumeclaims', 'persistentvolumes'],
  writes: {
    persistentvolumeclaims: { update: ['metadata.annotations'], status: ['status.conditions'] },
    persistentvolumes: { update: ['spec.capacity', 'metadata.annotations'] },
  },
  recordsEvents: true,
  start(context) {
    const { client, queue, vocabulary, gates } = context;
    const view: ExpandView = {
      names: expanderNames(vocabulary),
      migrated: ({ metadata, spec = {} }) =>
        migrateSource(spec, { domain: vocabulary.domain, gates, labels: metadata?.labels ?? {} }),
    };
    const parts: Parts = {
      deps: context,
      client,
      claims: context.resourceOf('persistentvolumeclaims'),
      volumes: context.resourceOf('persistentvolumes'),
      cachedClaims: context.cacheOf('persistentvolumeclaims'),
      cachedVolumes: context.cacheOf('persistentvolumes'),
      view,
      queue,
      reportedSizes: new Map(),
    };
    const follows = [
      context.cacheOf('persistentvolumeclaims').follow(({ current }) => queue.add(current.key)),
    ];
    return { reconcile: (key) => reconcile(parts, key), follows };
  },
});
