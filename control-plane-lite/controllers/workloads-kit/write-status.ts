/** Writes the status of a controller's object if it is still the same object. */
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../../resources/contract.ts';
import type { Caller, ObjectRef, Verbs } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';

export interface StatusDeps {
  readonly verbs: Pick<Verbs, 'update'>;
  readonly caller: Caller;
  readonly fieldManager: string;
}

/** Updates a draft of the object through its status subresource or (`subresource` absent) as a whole. Deleted
 *  or replaced objects stay untouched. @throws StatusError */
export async function changeObject(
  { verbs, caller, fieldManager }: StatusDeps,
  ref: ObjectRef,
  uid: string,
  change: (draft: ApiObject) => void,
  subresource?: 'status',
): Promise<void> {
  const edit = (live: ApiObject): ApiObject => {
    if (live.metadata.uid !== uid) {
      throw new StatusError('NotFound', `${ref.name} was replaced by another object`);
    }
    change(live);
    return live;
  };
  const part = subresource === undefined ? {} : { subresource };
  await unlessGone(() => verbs.update({ ref, change: edit, dryRun: false, fieldManager, ...part, caller }));
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
