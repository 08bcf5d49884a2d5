/** Typed views of objects. Strategies read through views and write through the draft. */
import { isMutableObject } from '#api/kit/object.ts';
import type { ApiObject, Draft } from './contract.ts';

/** The object as its kind's type has it: `typed<Pod>(object)`. Words that differ between the vocabularies are those
 *  on the wire, whatever the type says. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the kind that it serves
export function typed<T>(object: ApiObject): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `gen/` and the decoder come from one table
  return object as unknown as T;
}

/** Returns the spec of a draft for changes; creates a missing one. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the kind that it serves
export function draftSpec<T>(draft: ApiObject): Draft<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `gen/` and the decoder come from one table
  return membersOf(draft, 'spec') as Draft<T>;
}

/** Members of an object, to be set. */
export type Members = Record<string, unknown>;

/** Returns the object in this member of a draft; creates a missing one. */
export function membersOf(draft: Members, name: string): Members {
  const found = draft[name];
  if (isMutableObject(found)) return found;
  const made: Members = {};
  draft[name] = made;
  return made;
}

/** Restores the previous value of a member, or its absence. */
export function keepMember(draft: Members, old: Members, name: string): void {
  if (old[name] === undefined) delete draft[name];
  else draft[name] = old[name];
}
