/** Compiled selections: a predicate for objects, and the range of keys that can contain the selected ones.
 *  Pure. */
import { formatFieldSelector, matchesFields } from '#api/meta/field-selectors.ts';
import { formatLabelSelector, matchesLabels, type Requirement } from '#api/meta/selectors.ts';
import type { CachedObject, Selection } from '../contract.ts';

export interface NamedSelection extends Selection {
  /** A single object; with its namespace, if it is namespaced. */
  readonly name?: string;
}

export type Matcher = (object: CachedObject) => boolean;

/** Reports whether the selection filters objects by their content, not only by their location. */
export function isFiltered(selection: Selection): boolean {
  return selection.labels.length > 0 || selection.fields.length > 0;
}

/** Returns a key that is equal for equivalent selections in the same notation. */
export function selectionId({ namespace, name, labels, fields }: NamedSelection): string {
  const where = namespace === undefined && name === undefined ? '' : `${namespace ?? ''}/${name ?? ''}`;
  return `${where} ${formatLabelSelector(labels)} ${formatFieldSelector(fields)}`;
}

function placeMatcher({ namespace = '', name }: NamedSelection): Matcher | undefined {
  if (name !== undefined) {
    const key = namespace === '' ? name : `${namespace}/${name}`;
    return (object) => object.key === key;
  }
  if (namespace === '') return undefined;
  const prefix = `${namespace}/`;
  return (object) => object.key.startsWith(prefix);
}

/** Fast path: nearly every selector is one label with one value. */
function labelMatcher(requirements: readonly Requirement[]): Matcher {
  const [first] = requirements;
  const [value] = first?.values ?? [];
  if (
    first === undefined ||
    requirements.length > 1 ||
    first.operator !== 'in' ||
    first.values.length !== 1
  ) {
    return (object) => matchesLabels(requirements, object.labels);
  }
  const { key } = first;
  return (object) => object.labels[key] === value;
}

/** Returns a predicate; `undefined` if everything is selected. The namespace `''` means all. */
export function compileSelection(selection: NamedSelection): Matcher | undefined {
  const { labels, fields } = selection;
  const parts: Matcher[] = [];
  const place = placeMatcher(selection);
  if (place !== undefined) parts.push(place);
  if (fields.length > 0) parts.push((object) => matchesFields(fields, object.fields));
  if (labels.length > 0) parts.push(labelMatcher(labels));
  const [first, second, third] = parts;
  if (first === undefined || second === undefined) return first;
  if (third === undefined) return (object) => first(object) && second(object);
  return (object) => first(object) && second(object) && third(object);
}
