/** Permissions of a node on pods: create its mirror pods, and update the status of the pods bound to it. */
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '#api/gen/core-v1.ts';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { CachedObject } from '../../cache/contract.ts';
import { podReferences } from '../../resources/core/pod-references.ts';
import { typed } from '../../resources/view.ts';
import type { AdmissionRequest } from '../contract.ts';
import { refusal } from '../refusal.ts';

/** Reason why an owner reference is not to the node itself; `undefined`: it is. */
function ownerError(owners: readonly OwnerReference[], node: string): string | undefined {
  const [owner, another] = owners;
  if (another !== undefined) return 'pods with a single owner reference set to itself';
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== node)
    return 'pods with an owner reference set to itself';
  return owner.controller === true ? undefined : 'pods with a controller owner reference set to itself';
}

/** Returns the API object that a mirror pod references, which is forbidden; `undefined` if there is none. */
function referenceError({ metadata, spec }: Pod): string | undefined {
  if (spec === undefined) return undefined;
  if ((spec.serviceAccountName ?? '') !== '') return 'a service account';
  const { secrets, configMaps, claims } = podReferences(spec, metadata?.name ?? '');
  if (secrets.size > 0) return 'secrets';
  if (configMaps.size > 0) return 'configmaps';
  return claims.size > 0 ? 'persistentvolumeclaims' : undefined;
}

/** @throws StatusError Forbidden; NotFound if the node has not registered */
export async function checkMirrorPod(
  request: AdmissionRequest,
  node: string,
  {
    vocabulary,
    findNode,
  }: { readonly vocabulary: Vocabulary; readonly findNode: (name: string) => Promise<CachedObject> },
): Promise<void> {
  const { object } = request;
  if (object === undefined) return;
  const who = `node ${JSON.stringify(node)}`;
  const pod = typed<Pod>(object);
  const { annotations = {}, ownerReferences = [] } = object.metadata;
  const mark = vocabulary.configMirror;
  if (annotations[mark] === undefined)
    throw refusal(
      request,
      `pod does not have ${JSON.stringify(mark)} annotation, ${who} can only create mirror pods`,
    );
  if (pod.spec?.nodeName !== node)
    throw refusal(request, `${who} can only create pods with spec.nodeName set to itself`);
  const error = ownerError(ownerReferences, node);
  if (error !== undefined) throw refusal(request, `${who} can only create ${error}`);
  if (ownerReferences[0]?.blockOwnerDeletion === true)
    throw refusal(request, `${who} must not set blockOwnerDeletion on an owner reference`);
  const referred = referenceError(pod);
  if (referred !== undefined) throw refusal(request, `${who} can not create pods that reference ${referred}`);
  const { uid = '' } = (await findNode(node)).object().metadata;
  const given = ownerReferences[0]?.uid ?? '';
  if (given !== uid) throw refusal(request, `${who} UID mismatch: expected ${uid} got ${given}`);
}

/** @throws StatusError Forbidden */
export function checkPodStatus(request: AdmissionRequest, node: string): void {
  const { object, old } = request;
  if (object === undefined || old === undefined) return;
  const who = `node ${JSON.stringify(node)}`;
  if (typed<Pod>(old).spec?.nodeName !== node)
    throw refusal(request, `${who} can only update pod status for pods with spec.nodeName set to itself`);
  if (!isDeepStrictEqual(object.metadata.labels ?? {}, old.metadata.labels ?? {}))
    throw refusal(request, `${who} cannot update labels through pod status`);
}
