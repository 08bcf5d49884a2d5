/** Executes the garbage collector's decision about one object. */

import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject } from '../../resources/contract.ts';
import type { ObjectRef } from '../../verbs/contract.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { CollectorAction } from './decide.ts';
import type { Node } from './graph.ts';

export interface ExecuteDeps {
  readonly client: Pick<ControllerClient, 'verbs' | 'caller' | 'fieldManager'>;
  /** Queues an object again. */
  readonly revisit: (uid: string) => void;
}

const refOf = ({ resource, namespace, name }: Node): ObjectRef => ({ resource, namespace, name });

/** Ignores missing objects. @throws StatusError */
export async function executeAction(deps: ExecuteDeps, node: Node, action: CollectorAction): Promise<void> {
  const { client } = deps;
  switch (action.kind) {
    case 'revisit':
      for (const uid of action.uids) deps.revisit(uid);
      return;
    case 'delete': {
      const { propagation: propagationPolicy } = action;
      const request = { dryRun: false, preconditions: { uid: node.uid }, propagationPolicy };
      return unlessGone(() => client.verbs.delete({ ref: refOf(node), ...request, caller: client.caller }));
    }
    case 'dropOwners':
      return edit(client, node, ({ metadata }) => {
        const left = (metadata.ownerReferences ?? []).filter(({ uid }) => !action.uids.includes(uid));
        if (left.length > 0) metadata.ownerReferences = left;
        else delete metadata.ownerReferences;
      });
    case 'removeFinalizer':
      return edit(client, node, ({ metadata }) => {
        const left = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== action.finalizer);
        if (left.length > 0) metadata.finalizers = left;
        else delete metadata.finalizers;
      });
    default:
      action satisfies never;
  }
}

async function edit(
  { verbs, caller, fieldManager }: ExecuteDeps['client'],
  node: Node,
  change: (draft: ApiObject) => void,
): Promise<void> {
  const changeLive = (live: ApiObject): ApiObject => {
    if (live.metadata.uid !== node.uid) throw new StatusError('NotFound', 'object no longer exists');
    change(live);
    return live;
  };
  await unlessGone(() =>
    verbs.update({ ref: refOf(node), change: changeLive, dryRun: false, fieldManager, caller }),
  );
}
