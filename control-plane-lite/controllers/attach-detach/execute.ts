/** Executes attach/detach decisions: writes VolumeAttachments and the attached volumes in node status. */

import type { AttachedVolume, Node } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { attachmentName } from '#api/meta/volume-names.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { apiVersionOf } from '../../resources/facts.ts';
import { membersOf, typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { Attachable } from './model.ts';

export interface AttachClient {
  readonly client: ControllerClient;
  readonly nodes: Resource;
  readonly attachments: Resource;
}

/** Reports whether the node reports the volume in use. */
class InUseError extends Error {
  override readonly name = 'InUseError';
}

/** Reports whether the node exists. @throws StatusError, and errors of `edit` */
async function changeReport(
  { client, nodes }: AttachClient,
  nodeName: string,
  edit: (node: Node) => readonly AttachedVolume[],
): Promise<boolean> {
  let found = true;
  const change = (live: ApiObject): ApiObject => {
    const status = membersOf(live, 'status');
    const next = edit(typed<Node>(live));
    if (next.length > 0) status['volumesAttached'] = next;
    else delete status['volumesAttached'];
    return live;
  };
  const { verbs, fieldManager, caller } = client;
  const ref = { resource: nodes, namespace: '', name: nodeName };
  await verbs
    .update({ ref, change, dryRun: false, fieldManager, subresource: 'status', caller })
    .catch((thrown: unknown) => {
      if (!(thrown instanceof StatusError && thrown.reason === 'NotFound')) throw thrown;
      found = false;
    });
  return found;
}

/** Reports to the node that the volume is attached. Returns whether the node exists. */
export const executeReport = (parts: AttachClient, unique: string, nodeName: string): Promise<boolean> =>
  changeReport(parts, nodeName, ({ status }) => {
    const known = status?.volumesAttached ?? [];
    if (known.some(({ name }) => name === unique)) return known;
    return [...known, { name: unique, devicePath: '' }];
  });

/** Reports to the node that the volume is no longer attached. Returns whether the volume may be detached:
 *  unless forced, not while the node reports it in use. A node checks the attachment before it mounts, so
 *  that no mount can happen in between. */
export async function executeUnreport(
  parts: AttachClient,
  unique: string,
  nodeName: string,
  forced: boolean,
): Promise<boolean> {
  try {
    await changeReport(parts, nodeName, ({ status }) => {
      if (!forced && status?.volumesInUse?.includes(unique) === true) throw new InUseError(unique);
      return (status?.volumesAttached ?? []).filter(({ name }) => name !== unique);
    });
    return true;
  } catch (thrown) {
    if (thrown instanceof InUseError) return false;
    throw thrown;
  }
}

/** Requests the attachment. An existing request stays as it is. */
export async function executeAttach(
  { client, attachments }: AttachClient,
  { attacher }: Attachable,
  nodeName: string,
): Promise<void> {
  if (attacher?.source === undefined) return;
  const name = attachmentName(attacher.driver, attacher.handle, nodeName);
  const object: ApiObject = {
    apiVersion: apiVersionOf(attachments.info),
    kind: attachments.info.kind,
    metadata: { name },
    spec: {
      attacher: attacher.driver,
      source: attacher.source,
      nodeName,
    },
  };
  try {
    await client.verbs.create({
      ref: { resource: attachments, namespace: '', name },
      object,
      dryRun: false,
      fieldManager: client.fieldManager,
      caller: client.caller,
    });
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
  }
}

/** Deletes the attachment; its finalizers delay that until the attacher is done. */
export const executeDetach = (
  { client, attachments }: AttachClient,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<void> =>
  unlessGone(() =>
    client.verbs.delete({
      ref: { resource: attachments, namespace: '', name },
      dryRun: false,
      preconditions: { uid },
      caller: client.caller,
    }),
  );
