/** Attach/detach controller: requests attachment of volumes to the nodes whose pods use them, and detachment
 *  where no pod does any more. One worker per volume, so that a single-attach volume never gets two nodes. */
import type { Resource } from '../../resources/contract.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { type AttachAction, decideAttachments, FORCE_DETACH_MS, type Place } from './decide.ts';
import {
  type AttachClient,
  executeAttach,
  executeDetach,
  executeReport,
  executeUnreport,
} from './execute.ts';
import type { PodMessage } from './messages.ts';
import { type Attachable, attachNames, type UsingPod } from './model.ts';
import { type AttachState, followAttachments } from './state.ts';
import type { SeenPlace } from './volume-index.ts';

interface Parts extends AttachClient {
  readonly deps: WorkloadDeps;
  readonly pods: Resource;
  readonly volumes: Resource;
  readonly state: AttachState;
  readonly queue: KeyQueue;
  /** By volume. */
  readonly memories: Map<string, Memories>;
  /** Since when the volume of an attachment has been missing, in monotonic ms. */
  readonly lostSince: Map<string, number>;
}

/** Keys of volumes and lost attachments in one queue. */
const LOST = 'lost ';
const VOLUME = 'volume ';

/** State of a volume on a node between two reconciliations. */
interface Memory {
  /** Since when no pod has wanted it there, in monotonic ms; absent: a pod does. */
  readonly unwantedSinceMs?: number;
  /** The last reported mark. */
  readonly recordedMark?: string;
}

/** By node. */
type Memories = Map<string, Memory>;

function placeOf({ unique }: Attachable, seen: SeenPlace, unwantedSinceMs: number): Place {
  const { nodeName, node, attachment, pods } = seen;
  return {
    nodeName,
    pods,
    unwantedSinceMs,
    ...(attachment === undefined ? {} : { attachment }),
    ...(node === undefined
      ? {}
      : {
          node: {
            managed: node.managed,
            outOfService: node.outOfService,
            inUse: node.inUse.includes(unique),
            reported: node.reported.includes(unique),
          },
        }),
  };
}

/** Drops the memories that the current places no longer need. */
function remember(places: readonly SeenPlace[], before: Memories, nowMs: number): Memories {
  return new Map(
    places.map(({ nodeName, node, pods }): [string, Memory] => {
      const { unwantedSinceMs = nowMs, ...rest } = before.get(nodeName) ?? {};
      return [nodeName, node !== undefined && pods.length > 0 ? rest : { ...rest, unwantedSinceMs }];
    }),
  );
}

function recordPodEvents(
  { deps, client, pods }: Parts,
  type: 'Normal' | 'Warning',
  reason: string,
  messages: readonly PodMessage[],
): void {
  for (const { pod, message } of messages) {
    const object = deps.cache.resource(pods.storage).get(pod.key)?.object();
    if (object?.metadata.uid === pod.uid) client.events.record(object, type, reason, message);
  }
}

const attachedMessages = ({ label }: Attachable, pods: readonly UsingPod[]): readonly PodMessage[] =>
  pods.map((pod) => ({ pod, message: `AttachVolume.Attach succeeded for volume "${label}"` }));

/** Reports whether this was the last reported mark, and records it. */
function isRecorded(
  memories: Memories,
  { nodeName, mark }: { readonly nodeName: string; readonly mark: string },
): boolean {
  const before = memories.get(nodeName);
  if (before?.recordedMark === mark) return true;
  memories.set(nodeName, { ...before, recordedMark: mark });
  return false;
}

/** Events about the node and the volume: there may be no pod left to report on. */
function recordNodeEvent(
  { deps, client, nodes, volumes }: Parts,
  { attacher }: Attachable,
  { nodeName, message }: AttachAction & { readonly kind: 'recordNodeEvent' },
): void {
  const { persistentVolumeName = '' } = attacher?.source ?? {};
  const about = [
    deps.cache.resource(nodes.storage).get(nodeName)?.object(),
    deps.cache.resource(volumes.storage).get(persistentVolumeName)?.object(),
  ];
  for (const object of about) {
    if (object !== undefined) client.events.record(object, 'Warning', 'FailedDetachVolume', message);
  }
  deps.log.warn({ node: nodeName, eventMessage: message }, 'Failed to detach volume');
}

async function execute(
  parts: Parts,
  volume: Attachable,
  action: AttachAction,
  memories: Memories,
): Promise<void> {
  const { unique } = volume;
  const { nodeName } = action;
  switch (action.kind) {
    case 'attach':
      await executeAttach(parts, volume, nodeName);
      parts.deps.log.info({ volume: volume.label, node: nodeName }, 'Volume attachment requested');
      return;
    case 'report':
      if (!(await executeReport(parts, unique, nodeName))) return;
      memories.delete(nodeName);
      recordPodEvents(parts, 'Normal', 'SuccessfulAttachVolume', attachedMessages(volume, action.pods));
      return;
    case 'unreport':
      await executeUnreport(parts, unique, nodeName, action.forced);
      return;
    case 'detach':
      if (!(await executeUnreport(parts, unique, nodeName, action.forced))) return;
      await executeDetach(parts, action.attachment);
      parts.deps.log.info(
        { volume: volume.label, node: nodeName, forced: action.forced },
        'Volume detachment requested',
      );
      return;
    case 'recordPodEvents':
      if (isRecorded(memories, action)) return;
      recordPodEvents(parts, 'Warning', 'FailedAttachVolume', action.messages);
      return;
    case 'recordNodeEvent':
      if (!isRecorded(memories, action)) recordNodeEvent(parts, volume, action);
      return;
    default:
      action satisfies never;
  }
}

async function reconcileVolume(parts: Parts, unique: string): Promise<number | undefined> {
  const { state, deps, memories } = parts;
  const volume = state.attachable(unique);
  if (volume === undefined) return undefined;
  const monotonicMs = deps.clock.monotonic();
  const seen = state.places(volume);
  const remembered = remember(seen, memories.get(unique) ?? new Map<string, Memory>(), monotonicMs);
  if (remembered.size > 0) memories.set(unique, remembered);
  else memories.delete(unique);
  const { actions, recheckMs } = decideAttachments({
    volume,
    places: seen.map((place) =>
      placeOf(volume, place, remembered.get(place.nodeName)?.unwantedSinceMs ?? monotonicMs),
    ),
    monotonicMs,
    nowMs: deps.clock.now(),
    trustOutOfService: deps.gates.has('NodeOutOfServiceVolumeDetach'),
  });
  if (actions.some(({ kind }) => kind !== 'recordPodEvents' && kind !== 'recordNodeEvent'))
    parts.queue.expect(`${VOLUME}${unique}`);
  for (const action of actions) await execute(parts, volume, action, remembered);
  return recheckMs;
}

/** Attachments that this controller may have created have generated names made of hashes. */
const OWN_NAME = /^csi-[0-9a-f]{64}$/;

/** The volume of an attachment no longer exists: no pod can want it, and its use can no longer be
 *  determined. */
async function reconcileLost(parts: Parts, name: string): Promise<number | undefined> {
  const { state, deps, lostSince } = parts;
  const attachment = state.lost(name);
  const isOurs =
    attachment !== undefined &&
    !attachment.deleting &&
    OWN_NAME.test(name) &&
    state.node(attachment.nodeName)?.managed !== false;
  if (!isOurs) {
    lostSince.delete(name);
    return undefined;
  }
  const nowMs = deps.clock.monotonic();
  const sinceMs = lostSince.get(name) ?? nowMs;
  lostSince.set(name, sinceMs);
  const leftMs = FORCE_DETACH_MS - (nowMs - sinceMs);
  if (leftMs > 0) return leftMs;
  await executeDetach(parts, attachment);
  return undefined;
}

export const attachDetachController: Controller = defineController({
  name: 'attachdetach',
  identity: 'attachdetach-controller',
  watches: [
    'pods',
    'persistentvolumeclaims',
    'persistentvolumes',
    'nodes',
    'volumeattachments',
    'csidrivers',
    'csinodes',
  ],
  writes: {
    nodes: { status: ['status.volumesAttached'] },
    volumeattachments: { create: true, delete: true },
  },
  recordsEvents: true,
  start(context) {
    const { client, queue, vocabulary, gates } = context;
    const state = followAttachments(
      {
        pods: context.cacheOf('pods'),
        claims: context.cacheOf('persistentvolumeclaims'),
        volumes: context.cacheOf('persistentvolumes'),
        nodes: context.cacheOf('nodes'),
        attachments: context.cacheOf('volumeattachments'),
        drivers: context.cacheOf('csidrivers'),
        csiNodes: context.cacheOf('csinodes'),
      },
      attachNames(vocabulary, gates),
      {
        onVolume: (unique) => queue.add(`${VOLUME}${unique}`),
        onLost: (attachment) => queue.add(`${LOST}${attachment}`),
      },
    );
    const parts: Parts = {
      deps: context,
      pods: context.resourceOf('pods'),
      volumes: context.resourceOf('persistentvolumes'),
      client,
      nodes: context.resourceOf('nodes'),
      attachments: context.resourceOf('volumeattachments'),
      state,
      queue,
      memories: new Map(),
      lostSince: new Map(),
    };
    return {
      reconcile: (key) =>
        key.startsWith(LOST)
          ? reconcileLost(parts, key.slice(LOST.length))
          : reconcileVolume(parts, key.slice(VOLUME.length)),
      follows: [state],
    };
  },
});
