/** Served API groups with their versions in order of preference: those of the registry, and those of
 *  aggregated servers. Pure. */
import type { APIResource } from '#api/gen/meta-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Handler } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import { apiResources } from './api-resources.ts';
import { CUSTOM_PRIORITY, priorityOf } from './group-order.ts';
import { compareVersions } from './version-order.ts';

/** Group that an aggregated server serves. */
export interface ExtraGroup {
  readonly group: string;
  /** The preferred one first. */
  readonly versions: readonly string[];
  /** Groups of high priority come first. Default: that of custom resources, 1000. */
  readonly priority?: number;
  /** Resources of its versions, as that server lists them; a version without is shown as stale. */
  readonly resources?: Readonly<Record<string, readonly APIResource[]>>;
  /** Forwards a request below `/apis/<group>/<version>` to that server. Default: only local knowledge is
   *  served. */
  readonly forward?: Handler;
}

export interface ServedVersion {
  readonly version: string;
  /** `undefined`: an aggregated server has them, and has not reported them. */
  readonly resources: readonly APIResource[] | undefined;
  readonly forward?: Handler;
}

export interface ServedGroup {
  /** `''` for the core group. */
  readonly name: string;
  readonly priority: number;
  /** The preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** Group, and of each its versions with their resources. */
type ByGroup = Map<string, Map<string, Resource[]>>;

function byGroup(resources: readonly Resource[]): ByGroup {
  const groups: ByGroup = new Map();
  for (const resource of resources) {
    const { group, version } = resource.info;
    const versions = groups.get(group) ?? new Map<string, Resource[]>();
    groups.set(group, versions);
    const listed = versions.get(version) ?? [];
    versions.set(version, listed);
    listed.push(resource);
  }
  return groups;
}

function ownVersions(
  versions: ReadonlyMap<string, readonly Resource[]>,
  hashes: boolean,
): readonly ServedVersion[] {
  return [...versions].map(([version, resources]) => ({
    version,
    resources: apiResources(resources, hashes),
  }));
}

function extraVersions(extra: ExtraGroup): readonly ServedVersion[] {
  const { forward } = extra;
  return extra.versions.map((version) => ({
    version,
    resources: extra.resources?.[version],
    ...(forward === undefined ? {} : { forward }),
  }));
}

/** Versions of aggregated servers take precedence over local ones: an administrator registered them. */
function joined(own: readonly ServedVersion[], others: readonly ServedVersion[]): readonly ServedVersion[] {
  if (own.length === 0) return others;
  const taken = new Set(others.map(({ version }) => version));
  return [...own.filter(({ version }) => !taken.has(version)), ...others].toSorted((left, right) =>
    compareVersions(left.version, right.version),
  );
}

/** All groups, the core group first.
 *  @param hashes whether resources have the hash of their storage version */
export function servedGroups(
  resources: readonly Resource[],
  extras: readonly ExtraGroup[],
  vocabulary: Vocabulary,
  hashes = true,
): readonly ServedGroup[] {
  const own = byGroup(resources);
  const others = new Map(extras.map((extra) => [extra.group, extra]));
  const names = new Set([...own.keys(), ...others.keys()]);
  const groups = [...names].map((name): ServedGroup => {
    const extra = others.get(name);
    const mine = own.get(name);
    return {
      name,
      priority: Math.max(
        mine === undefined ? 0 : priorityOf(name, vocabulary),
        extra === undefined ? 0 : (extra.priority ?? CUSTOM_PRIORITY),
      ),
      versions: joined(
        mine === undefined ? [] : ownVersions(mine, hashes),
        extra === undefined ? [] : extraVersions(extra),
      ),
    };
  });
  return groups
    .filter(({ versions }) => versions.length > 0)
    .toSorted((left, right) => right.priority - left.priority || (left.name < right.name ? -1 : 1));
}
