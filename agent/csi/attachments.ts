/** Client of the VolumeAttachments on the API server: reads, awaits and creates them. */

import type { VolumeAttachment } from '#api/gen/storage-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { decode } from '#api/schema/decode.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { Attachment } from '#volumes/contract/csi.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';

const KIND = `storage.${VOCABULARIES.plat.apiGroupDomain}/v1.VolumeAttachment`;
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;

export interface Attachments {
  /** Undefined when it does not exist. */
  read(name: string, signal: AbortSignal): Promise<VolumeAttachment | undefined>;
  /** Resolves with the attachment once the condition holds, or with its state at the time limit. */
  follow(
    name: string,
    condition: (attachment: VolumeAttachment | undefined) => boolean,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<VolumeAttachment | undefined>;
  /** Creates it unless it exists. */
  make(attachment: Attachment, name: string, signal: AbortSignal): Promise<void>;
  /** Deletes it if it exists. Its attacher may hold it by a finalizer until the volume is detached. */
  remove(name: string, signal: AbortSignal): Promise<void>;
}

const hasStatus = (thrown: unknown, status: number): boolean =>
  thrown instanceof ApiRequestError && thrown.status === status;

export interface AttachmentsDeps {
  readonly client: Pick<ApiClient, 'get' | 'create' | 'delete' | 'watch'>;
  readonly clock: Pick<Clock, 'setTimer'>;
}

export function createAttachments(
  { client, clock }: AttachmentsDeps,
  { nodeName, vocabulary }: { readonly nodeName: string; readonly vocabulary: Vocabulary },
): Attachments {
  const apiVersion = `storage.${vocabulary.apiGroupDomain}/v1`;
  const resource = { apiVersion, resource: 'volumeattachments' };

  const parse = (object: Json): VolumeAttachment =>
    decode<VolumeAttachment>(KIND, object, { ...LENIENT, vocabulary }).value;

  async function read(name: string, signal: AbortSignal): Promise<VolumeAttachment | undefined> {
    try {
      return parse(await client.get({ ...resource, name }, signal));
    } catch (thrown) {
      if (hasStatus(thrown, 404)) return undefined;
      throw thrown;
    }
  }

  async function follow(
    name: string,
    condition: (attachment: VolumeAttachment | undefined) => boolean,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<VolumeAttachment | undefined> {
    let known = await read(name, signal);
    if (condition(known)) return known;
    const lapse = new AbortController();
    const timer = clock.setTimer(
      () => lapse.abort(new Error('timed out waiting for an attachment change')),
      limitMs,
    );
    const enough = AbortSignal.any([signal, lapse.signal]);
    const query = {
      fieldSelector: `metadata.name=${name}`,
      resourceVersion: known?.metadata?.resourceVersion,
    };
    try {
      for await (const event of client.watch(resource, enough, query)) {
        if (event.type === 'BOOKMARK') continue;
        known = event.type === 'DELETED' ? undefined : parse(event.object);
        if (condition(known)) return known;
      }
    } catch (thrown) {
      signal.throwIfAborted();
      if (!enough.aborted) throw thrown;
    } finally {
      timer.cancel();
    }
    return known;
  }

  return {
    read,
    follow,
    async make({ driver, source }, name, signal) {
      const spec = { attacher: driver, nodeName, source };
      const object = { apiVersion, kind: 'VolumeAttachment', metadata: { name }, spec };
      await client.create(resource, object, signal).catch((thrown: unknown) => {
        if (!hasStatus(thrown, 409)) throw thrown;
      });
    },
    async remove(name, signal) {
      await client.delete({ ...resource, name }, signal).catch((thrown: unknown) => {
        if (!hasStatus(thrown, 404)) throw thrown;
      });
    },
  };
}
