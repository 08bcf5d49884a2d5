/** Conditions of a terminating namespace that report what blocks its deletion. Pure. */
import type { NamespaceCondition } from '#api/gen/core-v1.ts';
import type { Resource } from '../../resources/contract.ts';
import type { Emptied, Remains } from '../skeleton/settings.ts';

export const nameOf = ({ info }: Resource): string =>
  info.group === '' ? info.plural : `${info.plural}.${info.group}`;

function contentMessage(remains: readonly Remains[]): string {
  const parts = remains.map(({ name, count }) => `${name} has ${count} resource instances`);
  return `Some resources are remaining: ${parts.join(', ')}`;
}

function finalizerMessage(finalizers: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const finalizer of finalizers) counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
  const parts = [...counts].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`);
  return `Some content in the namespace has finalizers remaining: ${parts.join(', ')}`;
}

/** The condition's type and status, its reasons for either status, and its messages. */
function condition(
  type: string,
  holds: boolean,
  reasons: readonly [holds: string, otherwise: string],
  messages: readonly [holds: string, otherwise: string],
  now: string,
): NamespaceCondition {
  const at = holds ? 0 : 1;
  return {
    type,
    status: holds ? 'True' : 'False',
    reason: reasons[at],
    message: messages[at],
    lastTransitionTime: now,
  };
}

export function deletionConditions(
  { failures, remains, unknown }: Emptied,
  now: string,
): readonly NamespaceCondition[] {
  const finalizers = remains.flatMap((each) => each.finalizers);
  return [
    condition(
      'NamespaceDeletionDiscoveryFailure',
      unknown.length > 0,
      ['DiscoveryFailed', 'ResourcesDiscovered'],
      [
        `Discovery failed for some groups, ${unknown.length} failing: ${unknown.join(', ')}`,
        'All resources successfully discovered',
      ],
      now,
    ),
    condition(
      'NamespaceDeletionContentFailure',
      failures.length > 0,
      ['ContentDeletionFailed', 'ContentDeleted'],
      [
        `Failed to delete all resource types, ${failures.length} remaining: ${failures.map(({ message }) => message).join(', ')}`,
        'All content successfully deleted, may be waiting on finalization',
      ],
      now,
    ),
    condition(
      'NamespaceContentRemaining',
      remains.length > 0,
      ['SomeResourcesRemain', 'ContentRemoved'],
      [contentMessage(remains), 'All content successfully removed'],
      now,
    ),
    condition(
      'NamespaceFinalizersRemaining',
      finalizers.length > 0,
      ['SomeFinalizersRemain', 'ContentHasNoFinalizers'],
      [finalizerMessage(finalizers), 'All content-preserving finalizers finished'],
      now,
    ),
  ];
}

/** Replaces the conditions of the same types; the transition time is retained if only the text changed. */
export function mergeConditions(
  present: readonly NamespaceCondition[],
  changed: readonly NamespaceCondition[],
): readonly NamespaceCondition[] {
  const byType = new Map(present.map((each) => [each.type, each]));
  for (const next of changed) {
    const before = byType.get(next.type);
    const lastTransitionTime =
      before?.status === next.status ? before.lastTransitionTime : next.lastTransitionTime;
    byType.set(next.type, { ...next, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) });
  }
  return [...byType.values()];
}
