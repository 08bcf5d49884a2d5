/** Shared part of the certificate controllers: runs a function for every new or changed signing request. */

import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '#api/gen/certificates-v1.ts';
import type { Mutable } from '../../resources/groups/kind.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import type { ControllerContext, Reconciler } from '../skeleton/declaration.ts';

export interface RequestTools {
  /** Updates a subresource of the latest state of a request, or leaves it; a missing request is not a
   *  failure. */
  readonly change: (
    name: string,
    part: 'status' | 'approval',
    change: (draft: Mutable<CertificateSigningRequest>) => void,
  ) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
}

/** Processes a request; may request another run by returning a delay in ms. */
export type RequestWork = (
  name: string,
  request: CertificateSigningRequest,
  tools: RequestTools,
) => Promise<number | undefined>;

export interface RequestController {
  readonly work: RequestWork;
  readonly onError: (name: string, error: Error) => void;
}

/** Subscribes to signing requests. */
export function followRequests(
  context: ControllerContext<'certificatesigningrequests', 'certificatesigningrequests'>,
  { work, onError }: RequestController,
): Reconciler {
  const { client, queue } = context;
  const { verbs, caller, fieldManager } = client;
  const resource = context.resourceOf('certificatesigningrequests');
  const requests = context.cacheOf('certificatesigningrequests');
  const tools: RequestTools = {
    change: (name, part, change) =>
      unlessGone(() =>
        verbs.update({
          ref: { resource, namespace: '', name },
          change: (live) => {
            change(typed<Mutable<CertificateSigningRequest>>(live));
            return live;
          },
          dryRun: false,
          fieldManager,
          subresource: part,
          caller,
        }),
      ),
    remove: (name) =>
      unlessGone(() => verbs.delete({ ref: { resource, namespace: '', name }, dryRun: false, caller })),
  };
  const following = requests.follow(({ type, current }) => {
    if (type !== 'DELETED') queue.add(current.name);
  });
  return {
    async reconcile(name) {
      const request = requests.get(name)?.object();
      return request === undefined ? undefined : work(name, typed<CertificateSigningRequest>(request), tools);
    },
    follows: [following],
    onError,
  };
}

/** Adds a condition with status True. */
export function addCondition(
  draft: Mutable<CertificateSigningRequest>,
  condition: Omit<CertificateSigningRequestCondition, 'status'>,
): void {
  draft.status = {
    ...draft.status,
    conditions: [...(draft.status?.conditions ?? []), { ...condition, status: 'True' }],
  };
}
