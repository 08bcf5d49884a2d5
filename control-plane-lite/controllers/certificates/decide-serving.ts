/** Decides whether a node agent's request for a serving certificate is approved automatically: the requestor
 *  must be the node itself, and the names must be the node's own. Pure. */

import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import { parseIp } from '#api/meta/ip.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { CertificateRequestError } from '../../resources/groups/certificates/certificate-request.ts';
import {
  NODE_USER_PREFIX,
  NODES_GROUP,
  signerError,
  signerKind,
} from '../../resources/groups/certificates/signers.ts';
import { hasCondition, isIssued, readRequest } from './decide.ts';

export type ServingDecision =
  | { readonly kind: 'approve' }
  /** Another approver is responsible, or the request has been decided. */
  | { readonly kind: 'leave' }
  /** Not yet: the node may still register its addresses. */
  | { readonly kind: 'wait'; readonly why: string };

const wait = (why: string): ServingDecision => ({ kind: 'wait', why });
const LEAVE: ServingDecision = { kind: 'leave' };

/** Canonical form of each name and address. */
function canonical(name: string): string {
  const ip = parseIp(name);
  return ip === undefined ? name.toLowerCase() : `${ip.family} ${ip.number}`;
}

const namesOf = ({ status }: Node): ReadonlySet<string> =>
  new Set((status?.addresses ?? []).map(({ address }) => canonical(address)));

const isSameMachine = (left: Node, right: Node): boolean => {
  const boot = left.status?.nodeInfo?.bootID ?? '';
  return boot !== '' && boot === right.status?.nodeInfo?.bootID;
};

export function decideServing(
  object: CertificateSigningRequest,
  nodes: readonly Node[],
  vocabulary: Vocabulary,
): ServingDecision {
  const { signerName, usages = [], username = '', groups = [] } = object.spec;
  if (hasCondition(object, 'Approved') || hasCondition(object, 'Denied') || isIssued(object)) return LEAVE;
  if (signerKind(signerName, vocabulary) !== 'node-serving') return LEAVE;
  if (!username.startsWith(NODE_USER_PREFIX) || !groups.includes(NODES_GROUP)) return LEAVE;
  try {
    const { content } = readRequest(object);
    if (content.commonName !== username || signerError('node-serving', content, usages) !== undefined) {
      return LEAVE;
    }
    const requested = [...content.dnsNames, ...content.ipAddresses];
    return decideNames(username.slice(NODE_USER_PREFIX.length), requested, nodes);
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    return LEAVE;
  }
}

/** Checks that the names belong to the node, and to no node on another machine. */
function decideNames(
  nodeName: string,
  requested: readonly string[],
  nodes: readonly Node[],
): ServingDecision {
  const node = nodes.find(({ metadata }) => metadata?.name === nodeName);
  if (node === undefined) return wait(`node ${nodeName} does not exist yet`);
  const own = namesOf(node);
  const foreign = requested.find((name) => !own.has(canonical(name)));
  if (foreign !== undefined) return wait(`${foreign} is not an address of node ${nodeName}`);
  for (const other of nodes) {
    if (other.metadata?.name === nodeName || isSameMachine(node, other)) continue;
    const names = namesOf(other);
    const taken = requested.find((name) => names.has(canonical(name)));
    if (taken !== undefined)
      return wait(`address ${taken} also belongs to node ${other.metadata?.name ?? ''}`);
  }
  return { kind: 'approve' };
}
