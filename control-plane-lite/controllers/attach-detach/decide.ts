/** Decisions about a volume: attach, report to the node, detach. Pure. Never reads the clock.
 *
 *    wanted ─▶ attach ─▶ (the attacher attaches) ─▶ report ─▶ the node mounts
 *    unwanted ─▶ (the node unmounts) ─▶ unreport ─▶ detach ─▶ (the attacher detaches)
 *
 *  Source: upstream's attach/detach controller and CSI attacher, release 1.24. */
import { attachFailed, detachFailed, multiAttach, type PodMessage } from './messages.ts';
import type { Attachable, Attachment, AttachNode, UsingPod } from './model.ts';

/** How long a node may keep reporting a volume in use that no pod wants there. */
export const FORCE_DETACH_MS = 360_000;
/** How long an attacher may take without reporting anything. */
export const ATTACH_MS = 120_000;

/** A volume on a node. */
export interface Place {
  readonly nodeName: string;
  /** Absent: the node does not exist. */
  readonly node?: Pick<AttachNode, 'managed' | 'outOfService'> & {
    readonly inUse: boolean;
    readonly reported: boolean;
  };
  readonly attachment?: Attachment;
  /** Pods that want it there. */
  readonly pods: readonly UsingPod[];
  /** Since when no pod has wanted it, in ms of any clock. */
  readonly unwantedSinceMs: number;
}

export interface AttachInput {
  readonly volume: Attachable;
  readonly places: readonly Place[];
  /** Of the clock of `unwantedSinceMs`. */
  readonly monotonicMs: number;
  readonly nowMs: number;
  /** Nodes that are out of service no longer count as users. */
  readonly trustOutOfService: boolean;
}

export type AttachAction =
  /** Request the attachment. */
  | { readonly kind: 'attach'; readonly nodeName: string }
  /** Report to the node that it is attached. */
  | { readonly kind: 'report'; readonly nodeName: string; readonly pods: readonly UsingPod[] }
  /** Report to the node that it is no longer attached; `forced`: even if the node reports it in use. */
  | { readonly kind: 'unreport'; readonly nodeName: string; readonly forced: boolean }
  /** The same, then request the detachment. */
  | {
      readonly kind: 'detach';
      readonly nodeName: string;
      readonly attachment: Attachment;
      readonly forced: boolean;
    }
  /** `mark`: reported once per mark. */
  | {
      readonly kind: 'recordPodEvents';
      readonly nodeName: string;
      readonly mark: string;
      readonly messages: readonly PodMessage[];
    }
  /** Report on the node and the volume that it is not detached; once per `mark`. */
  | {
      readonly kind: 'recordNodeEvent';
      readonly nodeName: string;
      readonly mark: string;
      readonly message: string;
    };

export interface AttachPlan {
  readonly actions: readonly AttachAction[];
  /** Time until the next reconciliation without any change, in ms. */
  readonly recheckMs?: number;
}

const NOTHING: AttachPlan = { actions: [] };
const plan = (...actions: readonly AttachAction[]): AttachPlan => ({ actions });

/** A node has the volume, or may have it. */
const isHeld = ({ attacher }: Attachable, { attachment, node }: Place): boolean =>
  attachment !== undefined || (attacher === undefined && node?.reported === true);

const isWanted = ({ node, pods }: Place): boolean => node?.managed === true && pods.length > 0;

/** Reports due while an attachment is pending. */
function decideWaiting(input: AttachInput, { nodeName, pods }: Place, attachment: Attachment): AttachPlan {
  const { label } = input.volume;
  const { error, createdMs } = attachment;
  if (error !== undefined) {
    const mark = `error ${error.time} ${error.message}`;
    return plan({
      kind: 'recordPodEvents',
      nodeName,
      mark,
      messages: attachFailed(label, pods, error.message),
    });
  }
  const ageMs = Math.max(0, input.nowMs - createdMs);
  const recheckMs = ATTACH_MS - (ageMs % ATTACH_MS);
  if (ageMs < ATTACH_MS) return { actions: [], recheckMs };
  const driver = input.volume.attacher?.driver ?? '';
  const reason = `timed out waiting for external-attacher of ${driver} CSI driver to attach volume ${input.volume.attacher?.handle ?? ''}`;
  const mark = `late ${Math.floor(ageMs / ATTACH_MS)}`;
  return {
    actions: [{ kind: 'recordPodEvents', nodeName, mark, messages: attachFailed(label, pods, reason) }],
    recheckMs,
  };
}

/** Reports due while a detachment is pending. */
function decideDetaching({ label }: Attachable, { nodeName, attachment }: Place): AttachPlan {
  const { deleting = false, detachError } = attachment ?? {};
  if (!deleting || detachError === undefined) return NOTHING;
  const { time, message } = detachError;
  const mark = `detach error ${time} ${message}`;
  return plan({ kind: 'recordNodeEvent', nodeName, mark, message: detachFailed(label, nodeName, message) });
}

/** `holders`: the other nodes where it is, or is about to be, attached. */
function decideWanted(input: AttachInput, place: Place, holders: readonly Place[]): AttachPlan {
  const { volume } = input;
  const { nodeName, attachment, pods, node } = place;
  const reported = node?.reported === true;
  if (attachment !== undefined && (attachment.deleting || !attachment.attached)) {
    const waiting = attachment.deleting
      ? decideDetaching(volume, place)
      : decideWaiting(input, place, attachment);
    if (!reported) return waiting;
    return { ...waiting, actions: [{ kind: 'unreport', nodeName, forced: true }, ...waiting.actions] };
  }
  const isThere = volume.attacher === undefined ? reported : attachment !== undefined;
  if (isThere) return reported ? NOTHING : plan({ kind: 'report', nodeName, pods });
  if (volume.exclusive && holders.length > 0) {
    const others = holders.flatMap((each) => each.pods);
    const messages = multiAttach(volume.label, pods, others);
    return plan({ kind: 'recordPodEvents', nodeName, mark: 'multi-attach', messages });
  }
  return volume.attacher === undefined
    ? plan({ kind: 'report', nodeName, pods })
    : plan({ kind: 'attach', nodeName });
}

function decideUnwanted(input: AttachInput, place: Place): AttachPlan {
  const { nodeName, attachment, node } = place;
  const reported = node?.reported === true;
  if (attachment === undefined && !reported) return NOTHING;
  if (attachment?.deleting === true) {
    const { actions } = decideDetaching(input.volume, place);
    return plan(...(reported ? [{ kind: 'unreport', nodeName, forced: true } as const] : []), ...actions);
  }
  const leftMs = FORCE_DETACH_MS - (input.monotonicMs - place.unwantedSinceMs);
  const forced = leftMs <= 0 || (input.trustOutOfService && node?.outOfService === true);
  // A missing node can never confirm that it has released the volume.
  if (!forced && node?.inUse !== false) return { actions: [], recheckMs: leftMs };
  return attachment === undefined
    ? plan({ kind: 'unreport', nodeName, forced })
    : plan({ kind: 'detach', nodeName, attachment, forced });
}

/** The longest waiting comes first. */
const firstMs = ({ pods }: Place): number => Math.min(...pods.map(({ createdMs }) => createdMs));
const inOrder = (places: readonly Place[]): readonly Place[] =>
  places.toSorted((a, b) => firstMs(a) - firstMs(b) || (a.nodeName < b.nodeName ? -1 : 1));

export function decideAttachments(input: AttachInput): AttachPlan {
  const { volume, places } = input;
  const holders = places.filter((place) => isHeld(volume, place));
  const actions: AttachAction[] = [];
  const times: number[] = [];
  const add = ({ actions: more, recheckMs }: AttachPlan): void => {
    actions.push(...more);
    if (recheckMs !== undefined) times.push(recheckMs);
  };
  for (const place of inOrder(places.filter(isWanted))) {
    const decided = decideWanted(
      input,
      place,
      holders.filter((each) => each !== place),
    );
    const begins = decided.actions.some(({ kind }) => kind === 'attach' || kind === 'report');
    if (begins && !holders.includes(place)) holders.push(place);
    add(decided);
  }
  for (const place of places) {
    // Volumes that a node attaches by itself are not managed here.
    if (!isWanted(place) && place.node?.managed !== false) add(decideUnwanted(input, place));
  }
  return { actions, ...(times.length === 0 ? {} : { recheckMs: Math.min(...times) }) };
}
