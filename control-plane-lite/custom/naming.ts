/** Name acceptance of definitions: no two definitions of a group share a name, nor does one share a name with
 *  a built-in resource. Every API server decides by itself with the same result. Pure. Source:
 *  apiextensions/v1, conditions NamesAccepted and Established; upstream's naming controller. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
} from '#api/gen/apiextensions-v1.ts';
import type { ResourceInfo } from '../resources/contract.ts';
import { completeNames, holds } from './definition.ts';

/** Names that others have. */
export interface TakenNames {
  /** Plurals, singulars and short names, which share one namespace. */
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

type Definition = CustomResourceDefinition;

const isNamed = ({ status }: Definition): boolean => (status?.acceptedNames?.plural ?? '') !== '';

/** Whether `a` was there before `b`. */
function isOlder(a: Definition, b: Definition): boolean {
  const [timeA, timeB] = [a.metadata?.creationTimestamp ?? '', b.metadata?.creationTimestamp ?? ''];
  return timeA === timeB ? (a.metadata?.uid ?? '') < (b.metadata?.uid ?? '') : timeA < timeB;
}

/** Returns the names of another definition: the accepted ones, or the requested ones if it is older than this one. */
function claimOf(other: Definition, self: Definition): CustomResourceDefinitionNames | undefined {
  if (isNamed(other)) return other.status?.acceptedNames;
  return isOlder(other, self) ? completeNames(other.spec.names) : undefined;
}

/** `others`: definitions of the same group; `builtIn`: the platform's own resources in it. */
export function takenNames(
  self: Definition,
  others: readonly Definition[],
  builtIn: readonly ResourceInfo[],
): TakenNames {
  const claims = others
    .filter(({ metadata }) => metadata?.uid !== self.metadata?.uid)
    .flatMap((other) => claimOf(other, self) ?? []);
  return namesOf([...claims, ...builtIn]);
}

function namesOf(all: readonly CustomResourceDefinitionNames[]): TakenNames {
  const texts = all.flatMap(({ plural, singular = '', shortNames = [] }) => [
    plural,
    singular,
    ...shortNames,
  ]);
  const kinds = all.flatMap(({ kind, listKind = '' }) => [kind, listKind]);
  return { resources: new Set(texts), kinds: new Set(kinds) };
}

/** Whether one of the same group wants a name of this one and neither was decided on: another server may just be
 *  giving it away, not having seen this one. */
export function isContested(self: Definition, others: readonly Definition[]): boolean {
  if (isNamed(self)) return false;
  const undecided = others.filter(
    (other) =>
      other.metadata?.uid !== self.metadata?.uid && !isNamed(other) && other.status?.conditions === undefined,
  );
  const claims = undecided.map(({ spec }) => completeNames(spec.names));
  const { conflict } = acceptNames(self, namesOf(claims));
  return conflict !== undefined;
}

interface Conflict {
  readonly reason: string;
  readonly message: string;
}

const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;

/** The names that the definition gets, keeping those it had where the new ones are taken, and what stands against
 *  the others. */
function acceptNames(
  { spec, status }: Definition,
  taken: TakenNames,
): { readonly names: CustomResourceDefinitionNames; readonly conflict?: Conflict } {
  const wanted = completeNames(spec.names);
  const had = status?.acceptedNames;
  const accepted: {
    -readonly [Member in keyof CustomResourceDefinitionNames]: CustomResourceDefinitionNames[Member];
  } = { plural: had?.plural ?? '', kind: had?.kind ?? '', ...had };
  let conflict: Conflict | undefined;

  function decide(
    member: 'plural' | 'singular' | 'kind' | 'listKind',
    set: ReadonlySet<string>,
    reason: string,
  ): void {
    if (set.has(wanted[member])) conflict = { reason, message: inUse(wanted[member]) };
    else accepted[member] = wanted[member];
  }
  decide('plural', taken.resources, 'PluralConflict');
  decide('singular', taken.resources, 'SingularConflict');
  const shortConflicts = wanted.shortNames.filter((name) => taken.resources.has(name));
  if (shortConflicts.length > 0) {
    conflict = { reason: 'ShortNamesConflict', message: shortConflicts.map(inUse).join(', ') };
  } else if (wanted.shortNames.length > 0) accepted.shortNames = wanted.shortNames;
  else delete accepted.shortNames;
  decide('kind', taken.kinds, 'KindConflict');
  decide('listKind', taken.kinds, 'ListKindConflict');
  if (wanted.categories.length > 0) accepted.categories = wanted.categories;
  else delete accepted.categories;
  return { names: accepted, ...(conflict === undefined ? {} : { conflict }) };
}

type Verdict = Pick<CustomResourceDefinitionCondition, 'type' | 'status' | 'reason' | 'message'>;

function establish(definition: Definition, conflict: Conflict | undefined): Verdict | undefined {
  // Once it is, it stays: objects may be there.
  if (holds(definition, 'Established')) return undefined;
  return conflict === undefined
    ? {
        type: 'Established',
        status: 'True',
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      }
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

/** The conditions with the verdicts; a condition that holds as before keeps its time. */
export function withVerdicts(
  conditions: readonly CustomResourceDefinitionCondition[],
  verdicts: readonly Verdict[],
  now: string,
): readonly CustomResourceDefinitionCondition[] {
  const result = [...conditions];
  for (const verdict of verdicts) {
    const index = result.findIndex(({ type }) => type === verdict.type);
    const before = result[index];
    const lastTransitionTime = before?.status === verdict.status ? (before.lastTransitionTime ?? now) : now;
    const condition = { lastTransitionTime, ...verdict };
    if (index < 0) result.push(condition);
    else result[index] = condition;
  }
  return result;
}

/** Names and conditions of a definition among the others. */
export function decideNames(
  definition: Definition,
  taken: TakenNames,
  now: string,
): {
  readonly acceptedNames: CustomResourceDefinitionNames;
  readonly conditions: readonly CustomResourceDefinitionCondition[];
} {
  const { names, conflict } = acceptNames(definition, taken);
  const accepted: Verdict =
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict };
  const established = establish(definition, conflict);
  const verdicts = established === undefined ? [accepted] : [accepted, established];
  return {
    acceptedNames: names,
    conditions: withVerdicts(definition.status?.conditions ?? [], verdicts, now),
  };
}
