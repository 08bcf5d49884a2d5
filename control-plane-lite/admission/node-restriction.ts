/** Restricts a node to its own objects: its Node, the pods bound to it, its lease and its CSINode, and tokens
 *  for service accounts of its pods. Source: NodeRestriction, document 2 §2.7; upstream's plugin, release
 *  1.24. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { nodeNameOf } from '../authz/node-identity.ts';
import type { CachedObject } from '../cache/contract.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import { checkClaimStatus } from './node-restriction/claim.ts';
import { checkOwnNode } from './node-restriction/node.ts';
import { checkMirrorPod, checkPodStatus } from './node-restriction/pod.ts';
import { checkToken } from './node-restriction/token.ts';
import { refusal } from './refusal.ts';

export interface NodeRestrictionDeps {
  readonly vocabulary: Vocabulary;
  readonly gates: ReadonlySet<string>;
  /** The newest state of a pod and of a node. @throws StatusError NotFound */
  readonly findPod: (namespace: string, name: string) => Promise<CachedObject>;
  readonly findNode: (name: string) => Promise<CachedObject>;
}

type Check = (request: AdmissionRequest, node: string) => void | Promise<void>;

const quote = (text: string): string => JSON.stringify(text);

export function createNodeRestriction(deps: NodeRestrictionDeps): AdmissionPlugin {
  const { vocabulary, gates, findPod } = deps;
  const { apiGroupDomain, nodeLeaseNamespace } = vocabulary;

  async function checkBound(request: AdmissionRequest, node: string, what: string): Promise<void> {
    const pod = await findPod(request.namespace, request.name);
    if (pod.fields['spec.nodeName'] !== node)
      throw refusal(request, `node ${quote(node)} can only ${what} pods with spec.nodeName set to itself`);
  }

  function unexpected(request: AdmissionRequest): Error {
    return refusal(request, `unexpected operation ${quote(request.operation)}`);
  }

  const pod: Check = (request, node) => {
    const { operation, subresource } = request;
    switch (`${operation} ${subresource}`.trim()) {
      case 'CREATE':
        return checkMirrorPod(request, node, deps);
      case 'DELETE':
        return checkBound(request, node, 'delete');
      case 'UPDATE status':
        return checkPodStatus(request, node);
      case 'CREATE eviction':
        return checkBound(request, node, 'evict');
      default:
        break;
    }
    if (subresource === 'status' || subresource === 'eviction') throw unexpected(request);
    if (subresource !== '')
      throw refusal(
        request,
        `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`,
      );
    throw refusal(
      request,
      `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
  };

  const claim: Check = (request, node) => {
    if (request.subresource !== 'status') throw refusal(request, 'may only update PVC status');
    if (request.operation !== 'UPDATE') throw unexpected(request);
    checkClaimStatus(request, node, gates.has('RecoverVolumeExpansionFailure'));
  };

  const lease: Check = (request, node) => {
    if (request.namespace !== nodeLeaseNamespace)
      throw refusal(request, `can only access leases in the ${quote(nodeLeaseNamespace)} system namespace`);
    checkOwnName(request, node, 'node lease');
  };

  const checks: ReadonlyMap<string, Check> = new Map([
    ['/pods', pod],
    ['/nodes', (request, node) => checkOwnNode(request, node, vocabulary)],
    ['/persistentvolumeclaims', claim],
    ['/serviceaccounts', (request, node) => checkToken(request, node, findPod)],
    [`coordination.${apiGroupDomain}/leases`, lease],
    [`storage.${apiGroupDomain}/csinodes`, (request, node) => checkOwnName(request, node, 'CSINode')],
  ]);

  function check(request: AdmissionRequest): void | Promise<void> {
    const node = nodeNameOf(request.user);
    if (node === undefined) return undefined;
    if (node === '') throw refusal(request, `could not determine node from user ${quote(request.user.name)}`);
    const { group, plural } = request.resource.info;
    return checks.get(`${group}/${plural}`)?.(request, node);
  }

  return {
    name: 'NodeRestriction',
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    resources: new Set(checks.keys()),
    mutate: check,
    // Deletions are not mutated.
    validate: (request) => (request.operation === 'DELETE' ? check(request) : undefined),
  };
}

function checkOwnName(request: AdmissionRequest, node: string, what: string): void {
  const name = request.operation === 'CREATE' ? (request.object?.metadata.name ?? '') : request.name;
  if (name !== node)
    throw refusal(request, `can only access ${what} with the same name as the requesting node`);
}
