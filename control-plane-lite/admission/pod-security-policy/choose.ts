/** Chooses the policy that allows a pod: one that leaves it as it is, or else the first that may change it. Pure but
 *  for authorization. Source: upstream's PodSecurityPolicy plugin, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { PodParts } from './context.ts';
import { mutatePod, type Policy } from './mutate.ts';
import { validatePod } from './validate.ts';

/** Which parts of the pod a policy may set: everything at creation, later only ephemeral containers. */
export type Mutable = 'all' | 'ephemeralContainers' | 'nothing';

export interface Choice {
  readonly policy: string;
  readonly pod: PodParts;
}

export interface Asked {
  readonly pod: PodParts;
  readonly mutable: Mutable;
  /** Sorted in the order of evaluation. */
  readonly policies: readonly Policy[];
  /** Whether the client or the pod's account may use the policy. */
  readonly mayUse: (policy: string) => Promise<boolean>;
}

/** A pod that no policy allows, with the reasons of the policies that the client may use. */
export interface Refused {
  readonly reasons: string;
}

function isChangedBeyond(mutable: Mutable, before: PodParts, after: PodParts): boolean {
  if (mutable === 'all') return false;
  if (mutable === 'nothing') return !isDeepStrictEqual(before, after);
  const { ephemeralContainers: _before, ...rest } = before.spec;
  const { ephemeralContainers: _after, ...other } = after.spec;
  return !isDeepStrictEqual(rest, other);
}

export async function choosePolicy(
  { pod, mutable, policies, mayUse }: Asked,
  vocabulary: Vocabulary,
): Promise<Choice | Refused> {
  const refusals: { readonly name: string; readonly errors: readonly FieldError[] }[] = [];
  let changing: Choice | undefined;
  for (const policy of policies) {
    const made = mutatePod(pod, policy, vocabulary);
    const errors = validatePod(made, policy, vocabulary);
    if (errors.length > 0) {
      refusals.push({ name: policy.name, errors });
      continue;
    }
    const isChanged = !isDeepStrictEqual(pod, made);
    if (isChangedBeyond(mutable, pod, made) || (isChanged && changing !== undefined)) continue;
    if (!(await mayUse(policy.name))) continue;
    if (!isChanged) return { policy: policy.name, pod };
    changing = { policy: policy.name, pod: made };
  }
  if (changing !== undefined) return changing;
  const shown: string[] = [];
  for (const { name, errors } of refusals)
    if (await mayUse(name)) shown.push(...errors.map(formatFieldError));
  return { reasons: `[${shown.join(' ')}]` };
}

/** Whether every rule of the policy can be evaluated. */
export function isUsable({ spec }: Policy): boolean {
  const hasRanges = (options: { rule?: string; ranges?: readonly unknown[] } | undefined): boolean =>
    options === undefined ||
    !['MustRunAs', 'MayRunAs'].includes(options.rule ?? '') ||
    (options.ranges ?? []).length > 0;
  return (
    [spec.runAsUser, spec.runAsGroup, spec.fsGroup, spec.supplementalGroups].every(hasRanges) &&
    (spec.seLinux.rule !== 'MustRunAs' || spec.seLinux.seLinuxOptions !== undefined)
  );
}
