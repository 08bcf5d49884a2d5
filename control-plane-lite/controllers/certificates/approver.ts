/** Approves certificate signing requests of node agents: client certificates that the requestor is authorized
 *  for, and serving certificates for a node's own addresses. Source: node certificates, document 2 §2.5 and
 *  §3; upstream's approver by SubjectAccessReview. */
import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { signerKind } from '../../resources/groups/certificates/signers.ts';
import { type ApprovalRight, approvalRights } from './decide.ts';
import { decideServing } from './decide-serving.ts';
import { addCondition, followRequests, type RequestControllerDeps } from './follow-requests.ts';

export interface ApproverDeps extends RequestControllerDeps {
  readonly authorizer: Pick<Authorizer, 'authorize'>;
  readonly nodes: () => Promise<readonly Node[]>;
}

const MANAGER = 'certificate-approver';

const MESSAGES: Readonly<Record<ApprovalRight, string>> = {
  selfnodeclient: 'approved unasked: the node may renew its own client certificate',
  nodeclient: 'approved unasked: the requestor may have client certificates for nodes',
};

const SERVING_MESSAGE = 'approved unasked: the node asks for a serving certificate for its own addresses';

/** Not yet approvable: a role may still be bound, or an address registered. */
class NotAllowedYetError extends Error {
  override readonly name = 'NotAllowedYetError';
}

/** Runs until the signal is aborted. */
export function runApprover(deps: ApproverDeps, signal: AbortSignal): Promise<void> {
  const { log, vocabulary } = deps;

  async function mayHave({ spec }: CertificateSigningRequest, right: ApprovalRight): Promise<boolean> {
    const { username = '', uid, groups = [], extra = {} } = spec;
    const { effect } = await deps.authorizer.authorize({
      user: { name: username, groups, extra, ...(uid === undefined ? {} : { uid }) },
      verb: 'create',
      isResource: true,
      group: `certificates.${vocabulary.apiGroupDomain}`,
      version: '*',
      resource: 'certificatesigningrequests',
      subresource: right,
      namespace: '',
      name: '',
      path: '',
    });
    return effect === 'allow';
  }

  return followRequests(
    deps,
    {
      manager: MANAGER,
      async work(name, object, { change }) {
        const isServing = signerKind(object.spec.signerName, vocabulary) === 'node-serving';
        const nodes = isServing ? await deps.nodes() : [];
        const serving = decideServing(object, nodes, vocabulary);
        if (serving.kind === 'wait') throw new NotAllowedYetError(serving.why);
        if (serving.kind === 'approve') {
          await change(name, 'approval', (draft) => {
            if (decideServing(draft, nodes, vocabulary).kind !== 'approve') return;
            addCondition(draft, { type: 'Approved', reason: 'AutoApproved', message: SERVING_MESSAGE });
          });
          log.info({ request: name, user: object.spec.username }, 'Certificate signing request approved');
          return undefined;
        }
        const rights = approvalRights(object, vocabulary);
        for (const right of rights) {
          if (!(await mayHave(object, right))) continue;
          await change(name, 'approval', (draft) => {
            if (!approvalRights(draft, vocabulary).includes(right)) return;
            addCondition(draft, { type: 'Approved', reason: 'AutoApproved', message: MESSAGES[right] });
          });
          log.info(
            { request: name, user: object.spec.username, right },
            'Certificate signing request approved',
          );
          return undefined;
        }
        if (rights.length > 0)
          throw new NotAllowedYetError(
            `${object.spec.username ?? ''} is not authorized to request this certificate`,
          );
        return undefined;
      },
      onError(name, err) {
        if (err instanceof NotAllowedYetError) {
          log.debug(
            { request: name, why: err.message },
            'Certificate signing request not approved automatically yet',
          );
        } else log.warn({ err, request: name }, 'Failed to approve certificate signing request; retrying');
      },
    },
    signal,
  );
}
