/** Writes the status of an object that a controller looks after, if it is still the same object. */
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../../resources/contract.ts';
import type { Caller, ObjectRef } from '../../verbs/contract.ts';
import { unlessGone } from '../unless-gone.ts';
import type { Updates } from './deps.ts';

export interface StatusDeps {
  readonly verbs: Updates;
  readonly caller: Caller;
  readonly fieldManager: string;
}

/** Changes the object, the draft of which is handed in, through its status or (`subresource` absent) as a whole. What
 *  is gone, or has become another object, is left alone.
 *  @throws StatusError */
export async function changeObject(
  { verbs, caller, fieldManager }: StatusDeps,
  ref: ObjectRef,
  uid: string,
  change: (draft: ApiObject) => void,
  subresource?: 'status',
): Promise<void> {
  const edit = (live: ApiObject | undefined): ApiObject => {
    if (live === undefined || live.metadata.uid !== uid) {
      throw new StatusError('NotFound', `${ref.name} is another object now`);
    }
    change(live);
    return live;
  };
  const options = { dryRun: false, fieldManager, allowCreate: false };
  const part = subresource === undefined ? {} : { subresource };
  await unlessGone(() => verbs.update(ref, edit, { ...options, ...part }, caller));
}

/** Replaces the status.
 *  @throws StatusError */
export const writeStatus = (deps: StatusDeps, ref: ObjectRef, uid: string, status: object): Promise<void> =>
  changeObject(
    deps,
    ref,
    uid,
    (draft) => {
      draft['status'] = status;
    },
    'status',
  );
