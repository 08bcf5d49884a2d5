/** Index of the pods that use each claim. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { claimUses } from './decide.ts';

export interface ClaimsInUse extends WatchHandle {
  /** `key`: `namespace/name`. */
  isUsed(key: string, claim: ApiObject): boolean;
}

const isCreatedFor = ({ metadata }: ApiObject, podUid: string): boolean =>
  metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === podUid) === true;

/** `onFreed`: a pod no longer uses the claim. */
export function followClaimUse(
  pods: Pick<ResourceCache, 'follow'>,
  onFreed: (claimKey: string) => void,
): ClaimsInUse {
  const usersOf = new Map<string, Map<string, string | undefined>>();
  const usedBy = new Map<string, readonly string[]>();

  function use(claimKey: string, podKey: string, createdFor: string | undefined): void {
    const users = usersOf.get(claimKey);
    if (users === undefined) usersOf.set(claimKey, new Map([[podKey, createdFor]]));
    else users.set(podKey, createdFor);
  }

  function free(claimKey: string, podKey: string): void {
    const users = usersOf.get(claimKey);
    users?.delete(podKey);
    if (users?.size === 0) usersOf.delete(claimKey);
  }

  const following = pods.follow(({ type, current }) => {
    const { key, namespace } = current;
    const before = usedBy.get(key) ?? [];
    const uses = type === 'DELETED' ? [] : claimUses(typed<Pod>(current.object()));
    const now = uses.map(({ name }) => `${namespace}/${name}`);
    for (const [index, { createdFor }] of uses.entries()) use(now[index] ?? '', key, createdFor);
    if (now.length > 0) usedBy.set(key, now);
    else usedBy.delete(key);
    for (const claimKey of before.filter((each) => !now.includes(each))) {
      free(claimKey, key);
      onFreed(claimKey);
    }
  });

  return {
    isUsed: (key, claim) =>
      [...(usersOf.get(key)?.values() ?? [])].some(
        (createdFor) => createdFor === undefined || isCreatedFor(claim, createdFor),
      ),
    close: () => following.close(),
  };
}
