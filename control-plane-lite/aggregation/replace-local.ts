/** Lets clients create an APIService in place of one that this server registered automatically: manifests of
 *  extension servers are written for clusters without it. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { ObjectRef, Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { unlessGone } from '../verbs/unless-gone.ts';
import { automanagedLabel, isReplaceable, leadsElsewhere, ownGroup } from './automanaged.ts';

export interface ReplaceLocalDeps {
  readonly verbs: Verbs;
  readonly cache: Cache;
  readonly vocabulary: Vocabulary;
}

const MANAGER = 'autoregister';

/** Reports whether the new object replaces the existing one. Pure. */
export function replacesLocal(
  { resource }: Pick<ObjectRef, 'resource'>,
  object: ApiObject,
  current: ApiObject | undefined,
  vocabulary: Vocabulary,
): boolean {
  if (resource.info.group !== ownGroup(vocabulary) || resource.info.plural !== 'apiservices') return false;
  if (current === undefined || !isReplaceable(object.metadata.name ?? '', vocabulary)) return false;
  if (!leadsElsewhere(object) || leadsElsewhere(current)) return false;
  return current.metadata.labels?.[automanagedLabel(vocabulary)] !== undefined;
}

export function replacingLocal({ verbs, cache, vocabulary }: ReplaceLocalDeps): Verbs {
  return {
    ...verbs,
    async create(write) {
      const { ref, object, caller } = write;
      const name = object.metadata.name ?? '';
      const isCandidate = !write.dryRun && isReplaceable(name, vocabulary);
      const current = isCandidate ? cache.resource(ref.resource.storage).get(name)?.object() : undefined;
      if (current !== undefined && replacesLocal(ref, object, current, vocabulary)) {
        const { uid } = current.metadata;
        const preconditions = uid === undefined ? {} : { uid };
        await unlessGone(() =>
          verbs.delete({
            ref: { ...ref, name },
            dryRun: false,
            preconditions,
            caller: controllerCaller(MANAGER, caller.signal),
          }),
        );
      }
      return verbs.create(write);
    },
  };
}
