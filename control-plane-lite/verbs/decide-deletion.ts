/** Decides the effect of a delete request on an object: remove it, mark it, or no change. Pure.
 *  Source: deletion, document 1 §3; grace periods and propagation as in upstream's registry. */

import { copyJson } from '#api/codec/copy-json.ts';
import { type Int64, nextInt64, secondsInMs } from '#api/kit/int64.ts';
import { formatTime, parseTime } from '#api/meta/time.ts';
import type { ApiObject, Resource, StrategyContext } from '../resources/contract.ts';
import type { DeleteOptions } from './contract.ts';

/** Finalizers that represent a propagation policy. */
export const ORPHAN_FINALIZER = 'orphan';
export const FOREGROUND_FINALIZER = 'foregroundDeletion';

export type DeletionDecision =
  /** Nothing blocks the removal. */
  | { readonly kind: 'remove' }
  /** The object remains, marked as being deleted. `object` is a copy with the marks. */
  | { readonly kind: 'mark'; readonly object: ApiObject }
  /** It is being deleted already and this request changes nothing. */
  | { readonly kind: 'pending' };

/** Returns the finalizers that propagation requires, with those of other actors unchanged. */
function propagationFinalizers(
  object: ApiObject,
  resource: Resource,
  request: DeleteOptions,
): readonly string[] {
  const present = object.metadata.finalizers ?? [];
  const others = present.filter((name) => name !== ORPHAN_FINALIZER && name !== FOREGROUND_FINALIZER);
  switch (request.propagationPolicy) {
    case 'Orphan':
      return [...others, ORPHAN_FINALIZER];
    case 'Foreground':
      return [...others, FOREGROUND_FINALIZER];
    case 'Background':
      return others;
    case undefined:
      break;
    default:
      request.propagationPolicy satisfies never;
  }
  if (present.length !== others.length) return present;
  return resource.strategy.defaultPropagation === 'orphan' ? [...others, ORPHAN_FINALIZER] : others;
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item) => b.includes(item));

/** Reports whether nothing blocks the removal of an object that is being deleted. */
export function isRemovable(object: ApiObject, resource: Resource): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0 || deletionGracePeriodSeconds !== 0)
    return false;
  return resource.strategy.holdsDeletion?.(object) !== true;
}

interface Marks {
  readonly deletionTimestamp: string;
  readonly graceSeconds: Int64;
}

/** A later request may only shorten the grace period of an earlier one. */
function shorten(object: ApiObject, requested: Int64 | undefined): Marks | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds: before } = object.metadata;
  if (deletionTimestamp === undefined || before === undefined || requested === undefined) return undefined;
  if (requested >= before) return undefined;
  const startedMs = parseTime(deletionTimestamp) - secondsInMs(before);
  return { deletionTimestamp: formatTime(startedMs + secondsInMs(requested)), graceSeconds: requested };
}

/** Returns the copy that is stored while deletion is pending. The first marking raises the generation,
 *  because controllers treat a terminating object differently. */
function mark(object: ApiObject, resource: Resource, marks: Marks, finalizers: readonly string[]): ApiObject {
  const copy = copyJson(object);
  const first = copy.metadata.deletionTimestamp === undefined;
  copy.metadata.deletionTimestamp = marks.deletionTimestamp;
  copy.metadata.deletionGracePeriodSeconds = marks.graceSeconds;
  if (finalizers.length > 0) copy.metadata.finalizers = finalizers;
  else delete copy.metadata.finalizers;
  if (first) {
    const { generation } = copy.metadata;
    if (generation !== undefined) copy.metadata.generation = nextInt64(generation);
    resource.strategy.markDeleting?.(copy);
  }
  return copy;
}

export function decideDeletion(
  object: ApiObject,
  resource: Resource,
  request: DeleteOptions,
  context: StrategyContext,
): DeletionDecision {
  const { strategy } = resource;
  const { deletionTimestamp, finalizers: present = [] } = object.metadata;
  const finalizers = propagationFinalizers(object, resource, request);
  const held = finalizers.length > 0 || strategy.holdsDeletion?.(object) === true;

  if (deletionTimestamp !== undefined) {
    const marks = shorten(object, request.gracePeriodSeconds);
    const grace = marks?.graceSeconds ?? object.metadata.deletionGracePeriodSeconds ?? 0;
    if (grace === 0 && !held) return { kind: 'remove' };
    if (marks === undefined && sameList(finalizers, present)) return { kind: 'pending' };
    const unchanged = { deletionTimestamp, graceSeconds: grace };
    return { kind: 'mark', object: mark(object, resource, marks ?? unchanged, finalizers) };
  }
  const graceSeconds = strategy.planDeletion?.(object, request.gracePeriodSeconds, context).graceSeconds ?? 0;
  if (graceSeconds === 0 && !held) return { kind: 'remove' };
  const marks = { deletionTimestamp: formatTime(context.nowMs + secondsInMs(graceSeconds)), graceSeconds };
  return { kind: 'mark', object: mark(object, resource, marks, finalizers) };
}
