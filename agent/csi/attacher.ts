/** Attaching by VolumeAttachments. Mostly the server's controller makes them: then the node's status says when a volume
 *  is attached, and the attachment what the driver is to know. With `--enable-controller-attach-detach=false` the agent
 *  makes and deletes them itself. Source: document 3, 2.7; upstream's CSI attacher, release 1.24. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { attachmentName, csiVolumeName } from '#api/meta/volume-names.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
import type { VolumeAttachment } from '#api/schema/gen/storage-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type Attacher, type Attachment, AttachRefusedError } from '#volumes/csi/contract.ts';
import { VolumeSetupError } from '#volumes/setup-error.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { PodEvent } from '../pods/operations/deps.ts';
import type { NodeEvent } from '../registration/node-status.ts';
import { createAttachments } from './attachments.ts';

/** How long a pod waits before it says what it waits for, in ms; then it is tried again. */
const ATTACH_PATIENCE_MS = 10_000;
const DETACH_PATIENCE_MS = 60_000;

export interface AttacherDeps {
  readonly client: Pick<ApiClient, 'get' | 'create' | 'delete' | 'watch'>;
  /** The node as the server has it. */
  readonly node: {
    current(): Node | undefined;
    onChange(listener: () => void): () => void;
  };
  readonly clock: Clock;
  /** Told of the node. */
  readonly event: (event: NodeEvent) => void;
  readonly podEvent: PodEvent;
}

export interface AttacherOptions {
  readonly nodeName: string;
  readonly vocabulary: Vocabulary;
  /** Whether the server's controller attaches. */
  readonly controllerAttaches: boolean;
}

/** Whether it becomes true within the time. @throws the signal's reason */
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
    enough.abort(new Error('it is over'));
  }
}

const isAttached = ({ status, metadata }: VolumeAttachment): boolean =>
  status?.attached === true && metadata?.deletionTimestamp === undefined;

const NOT_ATTACHED = 'the volume could not be attached';
const NOT_ANSWERED = 'its attacher has not answered';

/** What its attacher says of it. */
function checkAttached(name: string, attachment: VolumeAttachment | undefined): VolumeAttachment {
  if (attachment !== undefined && isAttached(attachment)) return attachment;
  const error = attachment?.status?.attachError?.message ?? '';
  const why = error === '' ? '' : `: ${error}`;
  throw new VolumeSetupError(`the volume is not attached to this node yet (VolumeAttachment ${name})${why}`);
}

/** What an answer of the server means to people. */
function explained(what: string, { status, message }: ApiRequestError): string {
  const hint =
    status === 403
      ? '; an agent that attaches by itself has to be allowed to get, list, watch, create and delete volumeattachments'
      : '';
  return `${what}: ${message}${hint}`;
}

/** Explains what the server answers; everything else passes. */
function explain(what: string, thrown: unknown): never {
  if (!(thrown instanceof ApiRequestError)) throw thrown;
  throw new VolumeSetupError(explained(what, thrown), { cause: thrown, reason: 'FailedAttachVolume' });
}

const tellAttached =
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
    const isTold = (): boolean =>
      deps.node.current()?.status?.volumesAttached?.some((volume) => volume.name === unique) === true;
    if (!(await becomes(deps, isTold, ATTACH_PATIENCE_MS, signal))) {
      const attachment = await attachments.read(name, signal);
      // The server is about to tell the node, or to take it away again: only the node's status says which.
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
    const isAnswered = (found: VolumeAttachment | undefined): boolean =>
      found !== undefined && (isAttached(found) || found.status?.attachError !== undefined);
    const found = await attachments.follow(name, isAnswered, ATTACH_PATIENCE_MS, signal);
    if (found !== undefined && isAttached(found)) return found;
    const why = found?.status?.attachError?.message ?? NOT_ANSWERED;
    throw new VolumeSetupError(
      `the volume is not attached to this node yet (VolumeAttachment ${name}): ${why}`,
      {
        reason: 'FailedAttachVolume',
      },
    );
  }

  /** What is left of the attachment; undefined: nothing. */
  async function detachOwn(name: string, signal: AbortSignal): Promise<VolumeAttachment | undefined> {
    await attachments.remove(name, signal);
    const isAnswered = (found: VolumeAttachment | undefined): boolean =>
      found === undefined || found.status?.detachError !== undefined;
    return attachments.follow(name, isAnswered, DETACH_PATIENCE_MS, signal);
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
    // Otherwise the controller tells it.
    ...(controllerAttaches ? {} : { attached: tellAttached(deps) }),
    async detach({ driver, volumeHandle }, signal) {
      if (controllerAttaches) return;
      const name = attachmentName(driver, volumeHandle, nodeName);
      const left = await detachOwn(name, signal).catch((thrown: unknown) =>
        explain('the volume could not be detached', thrown),
      );
      if (left === undefined) return;
      const why = left.status?.detachError?.message ?? NOT_ANSWERED;
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
