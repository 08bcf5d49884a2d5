/** Drops the fields of disabled feature gates from drafts. Pure; changes only the draft. */
import { isMutableObject } from '#api/kit/object.ts';
import type { ApiObject } from './contract.ts';
import type { GatedFields } from './gated-fields.ts';

/** Drops what a draft may not have. `old`: the object before an update. */
export type DropDisabled = (draft: ApiObject, old?: ApiObject) => void;

type Segment = { readonly name: string; readonly isList: boolean };

interface Rule {
  readonly paths: readonly (readonly Segment[])[];
  readonly fallback: string | undefined;
}

const segmentsOf = (path: string): readonly Segment[] =>
  path.split('.').map((part) => {
    const isList = part.endsWith('[]');
    return { name: isList ? part.slice(0, -2) : part, isList };
  });

/** Calls `visit` with each object that may have the last member of the path. Stops when it returns true. */
function visitHolders(
  value: unknown,
  segments: readonly Segment[],
  visit: (holder: Record<string, unknown>, member: string) => boolean,
  from = 0,
): boolean {
  const segment = segments[from];
  if (segment === undefined || !isMutableObject(value)) return false;
  if (from === segments.length - 1) return visit(value, segment.name);
  const next = value[segment.name];
  if (!segment.isList) return visitHolders(next, segments, visit, from + 1);
  return Array.isArray(next) && next.some((item) => visitHolders(item, segments, visit, from + 1));
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 0);

const uses = (object: ApiObject, { paths, fallback }: Rule): boolean =>
  paths.some((segments) =>
    visitHolders(
      object,
      segments,
      (holder, member) => !isEmpty(holder[member]) && holder[member] !== fallback,
    ),
  );

function drop(draft: ApiObject, { paths, fallback }: Rule): void {
  for (const segments of paths) {
    visitHolders(draft, segments, (holder, member) => {
      // What the draft shares with the old object is in use, or equal to the fallback: it is not written to.
      if (holder[member] === undefined || holder[member] === fallback) return false;
      if (fallback === undefined) delete holder[member];
      else holder[member] = fallback;
      return false;
    });
  }
}

/** Returns how drafts of a type lose the fields of disabled gates; `undefined` if none is disabled. */
export function dropDisabledFields(
  fields: readonly GatedFields[],
  gates: ReadonlySet<string>,
): DropDisabled | undefined {
  const rules: readonly Rule[] = fields
    .filter(({ gate }) => !gates.has(gate))
    .map(({ paths, fallback }) => ({ paths: paths.map(segmentsOf), fallback }));
  if (rules.length === 0) return undefined;
  return (draft, old) => {
    for (const rule of rules) if (old === undefined || !uses(old, rule)) drop(draft, rule);
  };
}
