/** Parses the operands of `get`: types and names. Pure. */
import { parseKind } from '../args/kinds.ts';
import { UsageError } from '../errors.ts';

export interface GetTarget {
  /** `Pod`, `Event`, `ConfigMap`… */
  readonly kind: string;
  /** Empty for all objects of the kind. */
  readonly names: readonly string[];
}

/** Parses `pods`, `pods web api`, `pods,configmaps`, or `pod/web configmap/app`. @throws UsageError */
export function parseTargets(operands: readonly string[]): readonly GetTarget[] {
  const [first, ...rest] = operands;
  if (first === undefined) throw new UsageError('get requires a TYPE, such as pods');
  if (first.includes('/')) return groupByKind(operands);
  const kinds = [
    ...new Set(
      first
        .split(',')
        .filter((word) => word !== '')
        .map(parseKind),
    ),
  ];
  if (kinds.length === 0) throw new UsageError('get requires a TYPE, such as pods');
  if (kinds.length > 1 && rest.length > 0) {
    throw new UsageError('names require a single TYPE; for several use TYPE/NAME');
  }
  return kinds.map((kind) => ({ kind, names: rest }));
}

function groupByKind(operands: readonly string[]): readonly GetTarget[] {
  const groups = new Map<string, string[]>();
  for (const text of operands) {
    const slash = text.indexOf('/');
    if (slash <= 0 || slash === text.length - 1) {
      throw new UsageError(`${JSON.stringify(text)} must be TYPE/NAME`);
    }
    const kind = parseKind(text.slice(0, slash));
    const names = groups.get(kind) ?? [];
    names.push(text.slice(slash + 1));
    groups.set(kind, names);
  }
  return [...groups].map(([kind, names]) => ({ kind, names }));
}
