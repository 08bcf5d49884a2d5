/** Resources as listed by discovery. Pure. Source: facts README, api-resources; discovery, document 1
 *  §4.1. */
import { createHash } from 'node:crypto';
import type { APIResource } from '#api/gen/meta-v1.ts';
import type { Resource, SubresourceInfo } from '../resources/contract.ts';

/** Bytes of a storage version hash. */
const HASH_BYTES = 8;

const byName = (left: { readonly name: string }, right: { readonly name: string }): number =>
  left.name < right.name ? -1 : left.name > right.name ? 1 : 0;

/** Custom resources are not in the type tables. */
export const isCustom = ({ schema }: Resource): boolean => schema.typeRef === undefined;

/** Changes when the objects of a resource are stored as another version, which controllers that rewrite them want to
 *  know. `undefined` for what isn't stored. */
export function storageVersionHash({ info, storage }: Resource): string | undefined {
  if (!info.verbs.includes('watch')) return undefined;
  const groupVersion = storage.apiVersion.includes('/') ? storage.apiVersion : `/${storage.apiVersion}`;
  const digest = createHash('sha256').update(`${groupVersion}/${storage.kind}`).digest();
  return digest.subarray(0, HASH_BYTES).toString('base64');
}

function mainResource(resource: Resource, hashes: boolean): APIResource {
  const { plural, singular, namespaced, kind, verbs, shortNames, categories } = resource.info;
  const hash = hashes ? storageVersionHash(resource) : undefined;
  return {
    name: plural,
    singularName: isCustom(resource) ? singular : '',
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(hash === undefined ? {} : { storageVersionHash: hash }),
  };
}

function subresource({ info }: Resource, sub: SubresourceInfo): APIResource {
  return {
    name: `${info.plural}/${sub.name}`,
    singularName: '',
    namespaced: info.namespaced,
    ...(sub.group === undefined ? {} : { group: sub.group }),
    ...(sub.version === undefined ? {} : { version: sub.version }),
    kind: sub.kind,
    verbs: sub.verbs,
  };
}

/** The resources of one group's version with their subresources, by the alphabet.
 *  @param hashes whether resources have the hash of their storage version */
export function apiResources(resources: readonly Resource[], hashes = true): readonly APIResource[] {
  const listed = resources.flatMap((resource) => [
    mainResource(resource, hashes),
    ...[...resource.info.subresources.values()].map((sub) => subresource(resource, sub)),
  ]);
  return listed.toSorted(byName);
}
