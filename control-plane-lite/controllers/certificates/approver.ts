/** Approves certificate signing requests of node agents: client certificates that the requestor is authorized
 *  for, and serving certificates for a node's own addresses. Source: node certificates, document 2 §2.5 and
 *  §3; upstream's approver by SubjectAccessReview. */

import { setImmediate } from 'node:timers/promises';
import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import type { ResourceCache } from '../../cache/contract.ts';
import { signerKind } from '../../resources/groups/certificates/signers.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import { type ApprovalRight, approvalRights } from './decide.ts';
import { decideServing } from './decide-serving.ts';
import { addCondition, followRequests, type RequestTools } from './follow-requests.ts';

const MESSAGES: Readonly<Record<ApprovalRight, string>> = {
  selfnodeclient: 'approved automatically: the node may renew its own client certificate',
  nodeclient: 'approved automatically: the requestor may have client certificates for nodes',
};

const SERVING_MESSAGE = 'approved automatically: the serving certificate is for addresses of the node';

/** Not yet approvable: a role may still be bound, or an address registered. */
class NotAllowedYetError extends Error {
  override readonly name = 'NotAllowedYetError';
}

async function isAuthorized(
  { settings, vocabulary }: ControllerContext,
  { spec }: CertificateSigningRequest,
  right: ApprovalRight,
): Promise<boolean> {
  const { username = '', uid, groups = [], extra = {} } = spec;
  const { effect } = await settings.authorizer.authorize({
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

/** Number of nodes parsed before the event loop gets its turn. */
const NODES_PER_TURN = 100;

async function allNodes(cache: Pick<ResourceCache, 'list'>): Promise<readonly Node[]> {
  const { items } = await cache.list({ labels: [], fields: [] });
  const nodes: Node[] = [];
  for (const item of items) {
    nodes.push(typed<Node>(item.object()));
    if (nodes.length % NODES_PER_TURN === 0) await setImmediate();
  }
  return nodes;
}

async function approve(
  context: ControllerContext,
  cachedNodes: Pick<ResourceCache, 'list'>,
  name: string,
  object: CertificateSigningRequest,
  { change }: RequestTools,
): Promise<undefined> {
  const { log, vocabulary } = context;
  const isServing = signerKind(object.spec.signerName, vocabulary) === 'node-serving';
  const nodes = isServing ? await allNodes(cachedNodes) : [];
  const serving = decideServing(object, nodes, vocabulary);
  if (serving.kind === 'wait') throw new NotAllowedYetError(serving.why);
  if (serving.kind === 'approve') {
    await change(name, 'approval', (draft) => {
      if (decideServing(draft, nodes, vocabulary).kind !== 'approve') return;
      addCondition(draft, { type: 'Approved', reason: 'AutoApproved', message: SERVING_MESSAGE });
    });
    log.info({ request: name, user: object.spec.username }, 'Certificate signing request approved');
    return;
  }
  const rights = approvalRights(object, vocabulary);
  for (const right of rights) {
    if (!(await isAuthorized(context, object, right))) continue;
    await change(name, 'approval', (draft) => {
      if (!approvalRights(draft, vocabulary).includes(right)) return;
      addCondition(draft, { type: 'Approved', reason: 'AutoApproved', message: MESSAGES[right] });
    });
    log.info({ request: name, user: object.spec.username, right }, 'Certificate signing request approved');
    return;
  }
  if (rights.length > 0)
    throw new NotAllowedYetError(
      `${object.spec.username ?? ''} is not authorized to request this certificate`,
    );
}

export const certificateApprover: Controller = defineController({
  name: 'csrapproving',
  identity: 'certificate-approver',
  watches: ['certificatesigningrequests', 'nodes'],
  writes: { certificatesigningrequests: { approval: ['status.conditions'] } },
  ownFieldManager: true,
  workers: 4,
  start(context) {
    const { log } = context;
    const nodes = context.cacheOf('nodes');
    return followRequests(context, {
      work: (name, object, tools) => approve(context, nodes, name, object, tools),
      onError(name, err) {
        if (err instanceof NotAllowedYetError) {
          log.debug(
            { request: name, why: err.message },
            'Certificate signing request not approved automatically yet',
          );
        } else log.warn({ err, request: name }, 'Failed to approve certificate signing request; retrying');
      },
    });
  },
});
