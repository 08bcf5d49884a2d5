/** Ownership conflicts in the form clients get: every manager and every field is named. Pure.
 *  Source: conflicts, document 1 §4.9.2 and §7; upstream's Status for apply conflicts. */
import { finish, type Steps } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { difference, type FieldSet, isEmptySet, LEAF } from './field-set.ts';
import { compareText, type ManagerIdentity } from './owners.ts';
import { compareElements, formatPath } from './path-element.ts';

/** Fields that another manager owns and the applied configuration would change. */
export interface Conflict {
  readonly owner: ManagerIdentity;
  readonly fields: FieldSet;
}

/** Returns the conflicts except those about fields that are allowed to change. */
export function withoutAllowed(conflicts: readonly Conflict[], allowed: FieldSet): readonly Conflict[] {
  return conflicts
    .map(({ owner, fields }) => ({ owner, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isEmptySet(fields));
}

/** Returns the Status of a rejected apply: 409, one cause for each manager and field. */
export function* conflictError(conflicts: readonly Conflict[]): Steps<StatusError> {
  const rows: Row[] = [];
  for (const { owner, fields } of conflicts) {
    const paths = yield* pathSteps(fields, []);
    yield;
    rows.push({ title: titleOf(owner), paths: paths.map(formatPath) });
    yield;
  }
  rows.sort((a, b) => compareText(a.title, b.title));
  const causes = rows.flatMap(({ title, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${title}`, field })),
  );
  yield;
  return new StatusError('Conflict', messageOf(rows, causes.length), { causes });
}

interface Row {
  readonly title: string;
  readonly paths: readonly string[];
}

function messageOf(rows: readonly Row[], count: number): string {
  const [first] = rows;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.title}: ${first.paths.join('')}`;
  }
  const lines = rows.flatMap(({ title, paths }) => [
    `conflicts with ${title}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`;
}

function titleOf({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  const part = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  const using = operation === 'Update' ? ` using ${apiVersion}` : '';
  return `${JSON.stringify(manager)}${part}${using}`;
}

/** So many take several ms to be sorted. */
const WIDE_ELEMENTS = 2000;

/** Members alone are in the order of their names, which the list's own sorting has too, ten times as fast. */
const sorted = (elements: string[]): readonly string[] =>
  elements.every((element) => element.startsWith('f:')) ? elements.sort() : elements.sort(compareElements);

/** Yields all members in order: those of a structure first, then those of nested structures. */
export const pathsOf = (set: FieldSet): readonly (readonly string[])[] => finish(pathSteps(set, []));

function* pathSteps(set: FieldSet, prefix: readonly string[]): Steps<readonly (readonly string[])[]> {
  const names = Object.keys(set).filter((element) => element !== '.');
  if (names.length > WIDE_ELEMENTS) yield;
  const elements = sorted(names);
  if (names.length > WIDE_ELEMENTS) yield;
  const members: (readonly string[])[] = [];
  const nested: string[] = [];
  for (const [index, element] of elements.entries()) {
    if (index % WIDE_ELEMENTS === WIDE_ELEMENTS - 1) yield;
    const node = set[element] ?? LEAF;
    const isLeaf = isEmptySet(node);
    if (isLeaf || node['.'] !== undefined) members.push([...prefix, element]);
    if (!isLeaf) nested.push(element);
  }
  const inner: (readonly (readonly string[])[])[] = [members];
  for (const element of nested) inner.push(yield* pathSteps(set[element] ?? LEAF, [...prefix, element]));
  return inner.flat();
}
