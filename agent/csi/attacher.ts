/** Attachment of volumes through VolumeAttachments. By default the server's controller creates them: the node
 *  status then shows attached volumes, and the attachment contains the parameters for the driver. With
 *  `--enable-controller-attach-detach=false` the agent creates and deletes them itself. Source: CSI, document
 *  3 §2.7; upstream's CSI attacher, release 1.24. */

import type { Node } from '#api/gen/core-v1.ts';
import type { VolumeAttachment } from '#api/gen/storage-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { attachmentName, csiVolumeName } from '#api/meta/volume-names.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type Attacher, type Attachment, AttachRefusedError } from '#volumes/contract/csi.ts';
import { VolumeSetupError } from '#volumes/errors/setup-error.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { PodEvent } from '../pods/pod-event.ts';
import type { NodeEvent } from '../registration/node-status.ts';
import { createAttachments } from './attachments.ts';

/** Maximum wait of a mount attempt before it reports the missing attachment and is retried, in ms. */
const ATTACH_TIMEOUT_MS = 10_000;
const DETACH_TIMEOUT_MS = 60_000;

export interface AttacherDeps {
  readonly client: Pick<ApiClient, 'get' | 'create' | 'delete' | 'watch'>;
  /** The node as stored by the server. */
  readonly node: {
    current(): Node | undefined;
    onChange(listener: () => void): () => void;
  };
  readonly clock: Clock;
  /** Emits an event on the node. */
  readonly event: (event: NodeEvent) => void;
  readonly podEvent: PodEvent;
}

export interface AttacherOptions {
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
  /** Whether the server's controller attaches volumes. */
  readonly controllerAttaches: boolean;
}

/** Reports whether the condition becomes true within the time limit. @throws the signal's reason */
async function becomes(
  { clock, node }: Pick<AttacherDeps, 'clock' | 'node'>,
  condition: () => boolean,
  limitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (condition()) return true;
  const enough = new AbortController();
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const end = node.onChange(() => {
    if (condition()) resolve(true);
  });
  const lapse = sleep(clock, limitMs, AbortSignal.any([signal, enough.signal])).then(() => false);
  lapse.catch(() => undefined);
  try {
    return await Promise.race([promise, lapse]);
  } finally {
    end();
    enough.abort(new Error('attachment wait ended'));
  }
}

const isAttached = ({ status, metadata }: VolumeAttachment): boolean =>
  status?.attached === true && metadata?.deletionTimestamp === undefined;

const NOT_ATTACHED = 'failed to attach the volume';
const NO_RESPONSE = 'its attacher has not responded';

/** Returns an attached attachment. @throws VolumeSetupError with the error of the attacher */
function checkAttached(name: string, attachment: VolumeAttachment | undefined): VolumeAttachment {
  if (attachment !== undefined && isAttached(attachment)) return attachment;
  const error = attachment?.status?.attachError?.message ?? '';
  const why = error === '' ? '' : `: ${error}`;
  throw new VolumeSetupError(`the volume is not attached to this node yet (VolumeAttachment ${name})${why}`);
}

/** Returns the error with an explanation of the server's response. */
function explained(what: string, { status, message }: ApiRequestError): string {
  const hint =
    status === 403
      ? '; an agent that attaches by itself has to be allowed to get, list, watch, create and delete volumeattachments'
      : '';
  return `${what}: ${message}${hint}`;
}

/** Adds an explanation to server responses; other errors pass unchanged. */
function explain(what: string, thrown: unknown): never {
  if (!(thrown instanceof ApiRequestError)) throw thrown;
  throw new VolumeSetupError(explained(what, thrown), { cause: thrown, reason: 'FailedAttachVolume' });
}

const emitAttached =
  ({ podEvent }: Pick<AttacherDeps, 'podEvent'>): NonNullable<Attacher['attached']> =>
  (pod, name) =>
    podEvent(pod, 'Normal', 'SuccessfulAttachVolume', `AttachVolume.Attach succeeded for volume "${name}"`);

export function createAttacher(deps: AttacherDeps, options: AttacherOptions): Attacher {
  const { nodeName, vocabulary, controllerAttaches } = options;
  const attachments = createAttachments(deps, options);

  async function untilController(
    { driver, volumeHandle }: Attachment,
    name: string,
    signal: AbortSignal,
  ): Promise<VolumeAttachment> {
    const unique = csiVolumeName(vocabulary.domain, driver, volumeHandle);
    const isReported = (): boolean =>
      deps.node.current()?.status?.volumesAttached?.some((volume) => volume.name === unique) === true;
    if (!(await becomes(deps, isReported, ATTACH_TIMEOUT_MS, signal))) {
      const attachment = await attachments.read(name, signal);
      // The attachment may be about to appear in the node status, or be detaching: only the node status is
      // authoritative.
      return checkAttached(
        name,
        attachment && { ...attachment, status: { ...attachment.status, attached: false } },
      );
    }
    return checkAttached(name, await attachments.read(name, signal));
  }

  async function attachOwn(
    attachment: Attachment,
    name: string,
    signal: AbortSignal,
  ): Promise<VolumeAttachment> {
    await attachments.make(attachment, name, signal).catch((thrown: unknown) => {
      if (!(thrown instanceof ApiRequestError) || thrown.retryable) throw thrown;
      throw new AttachRefusedError(explained(NOT_ATTACHED, thrown), { cause: thrown });
    });
    const hasResult = (found: VolumeAttachment | undefined): boolean =>
      found !== undefined && (isAttached(found) || found.status?.attachError !== undefined);
    const found = await attachments.follow(name, hasResult, ATTACH_TIMEOUT_MS, signal);
    if (found !== undefined && isAttached(found)) return found;
    const why = found?.status?.attachError?.message ?? NO_RESPONSE;
    throw new VolumeSetupError(
      `the volume is not attached to this node yet (VolumeAttachment ${name}): ${why}`,
      {
        reason: 'FailedAttachVolume',
      },
    );
  }

  /** State of the deleted attachment; undefined once it is gone. */
  async function detachOwn(name: string, signal: AbortSignal): Promise<VolumeAttachment | undefined> {
    await attachments.remove(name, signal);
    const hasResult = (found: VolumeAttachment | undefined): boolean =>
      found === undefined || found.status?.detachError !== undefined;
    return attachments.follow(name, hasResult, DETACH_TIMEOUT_MS, signal);
  }

  return {
    async attach(attachment, signal) {
      const name = attachmentName(attachment.driver, attachment.volumeHandle, nodeName);
      if (controllerAttaches) {
        return (await untilController(attachment, name, signal)).status?.attachmentMetadata ?? {};
      }
      const found = await attachOwn(attachment, name, signal).catch((thrown: unknown) =>
        explain(NOT_ATTACHED, thrown),
      );
      return found.status?.attachmentMetadata ?? {};
    },
    // With the controller, the event is emitted by it.
    ...(controllerAttaches ? {} : { attached: emitAttached(deps) }),
    async detach({ driver, volumeHandle }, signal) {
      if (controllerAttaches) return;
      const name = attachmentName(driver, volumeHandle, nodeName);
      const left = await detachOwn(name, signal).catch((thrown: unknown) =>
        explain('failed to detach the volume', thrown),
      );
      if (left === undefined) return;
      const why = left.status?.detachError?.message ?? NO_RESPONSE;
      const message = `the volume is not detached yet (VolumeAttachment ${name}): ${why}`;
      deps.event({
        type: 'Warning',
        reason: 'FailedDetachVolume',
        message: `DetachVolume.Detach failed for volume "${volumeHandle}" : ${why}`,
      });
      throw new VolumeSetupError(message);
    },
  };
}
