/** Writes what was decided: attachments, and what nodes are told of them. */

import { StatusError } from '#api/meta/status-error.ts';
import { attachmentName } from '#api/meta/volume-names.ts';
import type { AttachedVolume, Node } from '#api/schema/gen/core-v1.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { apiVersionOf } from '../../resources/facts.ts';
import { membersOf, typed } from '../../resources/view.ts';
import { unlessGone } from '../unless-gone.ts';
import type { Hands } from '../workloads-kit/family.ts';
import type { Attachable } from './model.ts';

export interface AttachHands {
  readonly hands: Hands;
  readonly nodes: Resource;
  readonly attachments: Resource;
}

/** A node says that it uses the volume. */
class InUseError extends Error {
  override readonly name = 'InUseError';
}

/** Whether the node is there. @throws StatusError, and whatever `edit` throws */
async function changeReport(
  { hands, nodes }: AttachHands,
  nodeName: string,
  edit: (node: Node) => readonly AttachedVolume[],
): Promise<boolean> {
  let found = true;
  const change = (live: ApiObject | undefined): ApiObject => {
    if (live === undefined) throw new StatusError('NotFound', `node ${nodeName} is gone`);
    const status = membersOf(live, 'status');
    const next = edit(typed<Node>(live));
    if (next.length > 0) status['volumesAttached'] = next;
    else delete status['volumesAttached'];
    return live;
  };
  const options = { dryRun: false, fieldManager: hands.fieldManager, allowCreate: false };
  const ref = { resource: nodes, namespace: '', name: nodeName };
  await hands.verbs
    .update(ref, change, { ...options, subresource: 'status' }, hands.caller)
    .catch((thrown: unknown) => {
      if (!(thrown instanceof StatusError && thrown.reason === 'NotFound')) throw thrown;
      found = false;
    });
  return found;
}

/** Tells the node that the volume is attached. Whether the node is there. */
export const executeReport = (parts: AttachHands, unique: string, nodeName: string): Promise<boolean> =>
  changeReport(parts, nodeName, ({ status }) => {
    const known = status?.volumesAttached ?? [];
    if (known.some(({ name }) => name === unique)) return known;
    return [...known, { name: unique, devicePath: '' }];
  });

/** Tells the node that the volume is attached no longer. Whether the volume may be detached: unless forced, not while
 *  the node says that it uses it; it looks before it mounts, so that nothing happens in between. */
export async function executeUnreport(
  parts: AttachHands,
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

/** Asks the attacher for it. What is asked for already is left as it is. */
export async function executeAttach(
  { hands, attachments }: AttachHands,
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
    await hands.verbs.create(
      { resource: attachments, namespace: '', name },
      object,
      { dryRun: false, fieldManager: hands.fieldManager },
      hands.caller,
    );
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'AlreadyExists')) throw thrown;
  }
}

/** Gives the attachment back; its finalizers keep it until the attacher is done. */
export const executeDetach = (
  { hands, attachments }: AttachHands,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<void> =>
  unlessGone(() =>
    hands.verbs.delete(
      { resource: attachments, namespace: '', name },
      { dryRun: false, preconditions: { uid } },
      hands.caller,
    ),
  );
