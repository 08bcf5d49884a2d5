/** Executes the garbage collector's decision about one object. */
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../../resources/contract.ts';
import type { Caller, ObjectRef, Verbs } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { CollectorAction } from './decide.ts';
import type { Node } from './graph.ts';

const MANAGER = 'garbage-collector';

export interface ExecuteDeps {
  readonly verbs: Verbs;
  readonly caller: Caller;
  /** Queues an object again. */
  readonly revisit: (uid: string) => void;
}

const refOf = ({ resource, namespace, name }: Node): ObjectRef => ({ resource, namespace, name });

/** Ignores missing objects. @throws StatusError */
export async function executeAction(deps: ExecuteDeps, node: Node, action: CollectorAction): Promise<void> {
  switch (action.kind) {
    case 'revisit':
      for (const uid of action.uids) deps.revisit(uid);
      return;
    case 'delete': {
      const { propagation: propagationPolicy } = action;
      const request = { dryRun: false, preconditions: { uid: node.uid }, propagationPolicy };
      return unlessGone(() => deps.verbs.delete({ ...request, ref: refOf(node), caller: deps.caller }));
    }
    case 'dropOwners':
      return edit(deps, node, ({ metadata }) => {
        const left = (metadata.ownerReferences ?? []).filter(({ uid }) => !action.uids.includes(uid));
        if (left.length > 0) metadata.ownerReferences = left;
        else delete metadata.ownerReferences;
      });
    case 'removeFinalizer':
      return edit(deps, node, ({ metadata }) => {
        const left = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== action.finalizer);
        if (left.length > 0) metadata.finalizers = left;
        else delete metadata.finalizers;
      });
    default:
      action satisfies never;
  }
}

async function edit(deps: ExecuteDeps, node: Node, change: (draft: ApiObject) => void): Promise<void> {
  const changeLive = (live: ApiObject): ApiObject => {
    if (live.metadata.uid !== node.uid) throw new StatusError('NotFound', 'object no longer exists');
    change(live);
    return live;
  };
  const options = { dryRun: false, fieldManager: MANAGER };
  await unlessGone(() =>
    deps.verbs.update({ ...options, ref: refOf(node), change: changeLive, caller: deps.caller }),
  );
}
