/** Shared loop of the certificate controllers: runs a function for every new or changed signing request. */

import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '#api/gen/certificates-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../../cache/contract.ts';
import type { Mutable } from '../../resources/groups/kind.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { typed } from '../../resources/view.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';

export interface RequestControllerDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
}

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
  /** Manager name for managedFields. */
  readonly manager: string;
  readonly work: RequestWork;
  readonly onError: (name: string, error: Error) => void;
}

/** Runs until the signal is aborted. */
export async function followRequests(
  deps: RequestControllerDeps,
  { manager, work, onError }: RequestController,
  signal: AbortSignal,
): Promise<void> {
  const group = `certificates.${deps.vocabulary.apiGroupDomain}`;
  const resource = deps.registry.find(group, 'v1', 'certificatesigningrequests');
  if (resource === undefined) return;
  const caller = controllerCaller(manager, signal);
  const requests = deps.cache.resource(resource.storage);
  const tools: RequestTools = {
    change: (name, part, change) =>
      unlessGone(() =>
        deps.verbs.update({
          ref: { resource, namespace: '', name },
          change: (live) => {
            change(typed<Mutable<CertificateSigningRequest>>(live));
            return live;
          },
          dryRun: false,
          fieldManager: manager,
          subresource: part,
          caller,
        }),
      ),
    remove: (name) =>
      unlessGone(() => deps.verbs.delete({ ref: { resource, namespace: '', name }, dryRun: false, caller })),
  };
  const queue = createWorkQueue({
    clock: deps.clock,
    work: async (name) => {
      const request = requests.get(name)?.object();
      return request === undefined ? undefined : work(name, typed<CertificateSigningRequest>(request), tools);
    },
    onError,
  });
  const following = requests.follow(({ type, current }) => {
    if (type !== 'DELETED') queue.add(current.name);
  });
  await queue.run(signal);
  following.close();
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
