/** Ownership of replicas across the `scale` subresource: the Scale has managedFields of its own, which
 *  represent one field of the parent. Pure. Source: server-side apply, document 1 §4.9; upstream's handling
 *  of scale. */
import type { ManagedFieldsEntry } from '#api/gen/meta-v1.ts';
import { difference, hasPath, setOfPaths, union } from './field-set.ts';
import { formatOwners, isSameManager, type Owner, storedOwners, withSet } from './owners.ts';

export interface ScaleMapping {
  /** Path of the replicas by version of the parent: `{ 'apps/v1': ['f:spec', 'f:replicas'] }`. */
  readonly paths: Readonly<Record<string, readonly string[]>>;
  /** Version of the parent in the request. */
  readonly apiVersion: string;
  /** Version of the scale object. */
  readonly scaleVersion: string;
}

const REPLICAS_OF_SCALE: readonly string[] = ['f:spec', 'f:replicas'];

/** Returns the path elements of a dotted path such as `.spec.replicas`, the notation of custom resources. */
export function replicasPath(dotted: string): readonly string[] {
  return dotted
    .split('.')
    .filter((part) => part !== '')
    .map((part) => `f:${part}`);
}

type Entries = readonly ManagedFieldsEntry[] | undefined;

/** Returns the managedFields of the Scale: all owners of the parent's replicas. */
export function toScaleEntries(parent: Entries, { paths, scaleVersion }: ScaleMapping): Entries {
  const owners = storedOwners(parent).flatMap((owner) => {
    const path = paths[owner.apiVersion];
    if (path === undefined || !hasPath(owner.set, path)) return [];
    return [{ ...owner, apiVersion: scaleVersion, set: setOfPaths([REPLICAS_OF_SCALE]), entry: undefined }];
  });
  return formatOwners(owners);
}

/** Returns the managedFields of the parent after a write to its Scale: managers that lost or gained the
 *  replicas there lose or gain them here. Entries of versions without a path are dropped. */
export function fromScaleEntries(parent: Entries, scale: Entries, mapping: ScaleMapping): Entries {
  const { paths, apiVersion, scaleVersion } = mapping;
  const before = storedOwners(parent);
  const after = storedOwners(scale);
  const inScale = (owner: Owner): Owner | undefined =>
    after.find((other) =>
      isSameManager({ ...other, apiVersion: scaleVersion }, { ...owner, apiVersion: scaleVersion }),
    );
  const kept = before.flatMap((owner) => {
    const path = paths[owner.apiVersion];
    if (path === undefined) return [];
    if (!hasPath(owner.set, path) || inScale(owner) !== undefined) return [owner];
    return [withSet(owner, difference(owner.set, setOfPaths([path])))];
  });
  const replicas = setOfPaths([paths[apiVersion] ?? REPLICAS_OF_SCALE]);
  return formatOwners(
    after.reduce((owners, owner) => gain(owners, { ...owner, apiVersion }, replicas, paths), kept),
  );
}

/** Transfers the replicas to one of the owners, or to a new one. */
function gain(
  owners: readonly Owner[],
  owner: Owner,
  replicas: Owner['set'],
  paths: ScaleMapping['paths'],
): Owner[] {
  const isOwner = (other: Owner): boolean => isSameManager({ ...other, apiVersion: owner.apiVersion }, owner);
  const holds = (other: Owner): boolean => hasPath(other.set, paths[other.apiVersion] ?? []);
  if (owners.some((other) => isOwner(other) && holds(other))) {
    return owners.map((other) =>
      isOwner(other) && holds(other) && other.time !== owner.time
        ? { ...other, time: owner.time, entry: undefined }
        : other,
    );
  }
  const same = owners.find((other) => isSameManager(other, owner));
  const now: Owner = { ...owner, set: union(same?.set ?? {}, replicas), entry: undefined };
  return [...owners.filter((other) => other !== same), now];
}
