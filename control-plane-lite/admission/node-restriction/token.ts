/** Token requests of a node: only for tokens bound to a pod that is bound to the node. */
import type { TokenRequest } from '#api/gen/authentication-v1.ts';
import type { CachedObject } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import type { AdmissionRequest } from '../contract.ts';
import { refusal } from '../refusal.ts';

/** @throws StatusError Forbidden; NotFound without the pod */
export async function checkToken(
  request: AdmissionRequest,
  node: string,
  findPod: (namespace: string, name: string) => Promise<CachedObject>,
): Promise<void> {
  const { operation, subresource, object, namespace } = request;
  if (operation !== 'CREATE' || subresource !== 'token' || object === undefined) return;
  const {
    apiVersion,
    kind,
    name = '',
    uid = '',
  } = typed<Partial<TokenRequest>>(object).spec?.boundObjectRef ?? {};
  if (apiVersion !== 'v1' || kind !== 'Pod' || name === '')
    throw refusal(request, 'node requested token not bound to a pod');
  if (uid === '') throw refusal(request, 'node requested token with a pod binding without a uid');
  const pod = await findPod(namespace, name);
  if (pod.object().metadata.uid !== uid)
    throw refusal(
      request,
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (pod.fields['spec.nodeName'] !== node)
    throw refusal(request, 'node requested token bound to a pod scheduled on a different node');
}
