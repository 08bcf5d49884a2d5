/** The `binding` subresource: the scheduler assigns a node to a pod, once. Pure. Source: upstream's pod
 *  binding, release 1.24. */

import type { Binding, Pod, PodCondition } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { conflict, invalid, type Subject } from '#api/meta/status-errors.ts';
import { formatTime } from '#api/meta/time.ts';
import { createFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { membersOf, typed } from '../view.ts';
import { validateLastingAnnotations } from './pod-update.ts';

const PODS_BINDING: Subject = { group: '', name: 'pods/binding' };

/** @throws StatusError Invalid or BadRequest if the Binding does not match the pod */
export function checkBinding(bindingObject: ApiObject, podName: string): void {
  const { metadata, target } = typed<Binding>(bindingObject);
  const name = metadata?.name ?? '';
  if (name !== podName) {
    throw new StatusError('BadRequest', 'name in URL does not match name in Binding object');
  }
  const errors = createFieldErrors();
  const kind = target.kind ?? '';
  if (kind !== '' && kind !== 'Node') errors.unsupported('target.kind', kind, ['Node', '<empty>']);
  if ((target.name ?? '') === '') errors.required('target.name');
  if (errors.all.length > 0) throw invalid({ group: '', name: 'Binding' }, name, errors.all);
}

/** Returns the reason why the pod cannot be bound; `undefined` if it can. */
function obstacle(pod: Pod, { metadata }: Binding): string | undefined {
  const name = pod.metadata?.name ?? '';
  const { uid = '', resourceVersion = '' } = metadata ?? {};
  const [podUID, podVersion] = [pod.metadata?.uid ?? '', pod.metadata?.resourceVersion ?? ''];
  if (uid !== '' && uid !== podUID) {
    return `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${podUID}`;
  }
  if (resourceVersion !== '' && resourceVersion !== podVersion) {
    return `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${podVersion}`;
  }
  if (pod.metadata?.deletionTimestamp !== undefined) {
    return `pod ${name} is being deleted, cannot be assigned to a host`;
  }
  const nodeName = pod.spec?.nodeName ?? '';
  return nodeName === '' ? undefined : `pod ${name} is already assigned to node ${JSON.stringify(nodeName)}`;
}

/** The conditions with PodScheduled true. */
function scheduled(conditions: readonly PodCondition[], nowMs: number): readonly PodCondition[] {
  const before = conditions.find(({ type }) => type === 'PodScheduled');
  const since = before?.status === 'True' ? before.lastTransitionTime : undefined;
  const condition: PodCondition = {
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: since ?? formatTime(nowMs),
  };
  return before === undefined
    ? [...conditions, condition]
    : conditions.map((other) => (other === before ? condition : other));
}

/** Gives the pod the node of the Binding, with the Binding's annotations. Changes the draft and returns it.
 *  @throws StatusError Conflict if the pod has a node, is being deleted, or is not the one that is meant; Invalid if an
 *  annotation is one that may not change */
export function bindPod(
  draft: ApiObject,
  bindingObject: ApiObject,
  { nowMs, vocabulary }: { readonly nowMs: number; readonly vocabulary: Vocabulary },
): ApiObject {
  const [pod, binding] = [typed<Pod>(draft), typed<Binding>(bindingObject)];
  const why = obstacle(pod, binding);
  if (why !== undefined) throw conflict(PODS_BINDING, draft.metadata.name ?? '', why);
  membersOf(draft, 'spec')['nodeName'] = binding.target.name;
  const annotations = binding.metadata?.annotations;
  if (annotations !== undefined && Object.keys(annotations).length > 0) {
    const old: Pod = { ...pod, metadata: { ...pod.metadata } };
    draft.metadata.annotations = { ...draft.metadata.annotations, ...annotations };
    const errors = createFieldErrors();
    validateLastingAnnotations(errors, pod, old, vocabulary);
    if (errors.all.length > 0)
      throw invalid({ group: '', name: 'Pod' }, draft.metadata.name ?? '', errors.all);
  }
  membersOf(draft, 'status')['conditions'] = scheduled(pod.status?.conditions ?? [], nowMs);
  return draft;
}
