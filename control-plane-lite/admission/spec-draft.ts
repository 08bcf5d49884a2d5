/** Writers of fields in a draft's spec. */
import type { Pod } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { ApiObject } from '../resources/contract.ts';

export type PodSpec = NonNullable<Pod['spec']>;

/** Replaces the draft's spec with a copy that has these members: the old one may be shared with the live object. */
export function setInSpec<T extends object>(draft: ApiObject, change: Partial<T>): void {
  const { spec } = draft;
  draft['spec'] = { ...(isMutableObject(spec) ? spec : {}), ...change };
}
