/** Cached objects besides nodes and pods that decisions depend on: namespaces, services, owners, volumes. */

import type { ReplicaSet } from '#api/gen/apps-v1.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  ReplicationController,
  Service,
} from '#api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '#api/gen/policy-v1.ts';
import type { CSIDriver, CSINode, CSIStorageCapacity, StorageClass } from '#api/gen/storage-v1.ts';
import { migratedPluginsAnnotation } from '#api/meta/csi-migration.ts';
import { matchesLabels, type Requirement, selectorRequirements } from '#api/meta/selectors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache, CachedObject, WatchHandle } from '../cache/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import { typed } from '../resources/view.ts';
import type { Surroundings } from './fleet/fleet.ts';
import { schedulerLabelKeys } from './fleet/label-keys.ts';
import type { OwnerRef, PodShape } from './fleet/model.ts';
import { NO_LIMITS, NO_PLUGINS, type Volumes } from './fleet/volumes.ts';
import type { Budget } from './preempt.ts';

export interface SurroundingsDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly cache: Pick<Cache, 'resource'>;
  readonly vocabulary: Vocabulary;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  /** A claim, a volume or a class changed. */
  readonly onVolumes: () => void;
}

export interface LiveSurroundings extends Surroundings {
  readonly budgets: () => readonly Budget[];
  /** Keeps a volume for a claim until `undefined` is set. */
  readonly reserve: (volumeName: string, claimKey: string | undefined) => void;
  close(): void;
}

/** Stores all objects of a resource by key. For resources with few objects. */
function follow(
  { registry, cache }: SurroundingsDeps,
  [group, version, plural]: readonly [string, string, string],
  objects: Map<string, CachedObject>,
  onChange: () => void = () => undefined,
): WatchHandle | undefined {
  const resource = registry.find(group, version, plural);
  if (resource === undefined) return undefined;
  return cache.resource(resource.storage).follow(({ type, current }) => {
    if (type === 'DELETED') objects.delete(current.key);
    else objects.set(current.key, current);
    onChange();
  });
}

const empty = (record: Readonly<Record<string, string>> | undefined): boolean =>
  record === undefined || Object.keys(record).length === 0;

const equalTo = (labels: Readonly<Record<string, string>>): readonly Requirement[] =>
  selectorRequirements({ matchLabels: labels });

function budgetOf(entry: CachedObject): Budget | undefined {
  const { spec, status } = typed<PodDisruptionBudget>(entry.object());
  if (spec?.selector === undefined) return undefined;
  const requirements = selectorRequirements(spec.selector);
  const disrupted = new Set(Object.keys(status?.disruptedPods ?? {}));
  return {
    covers: ({ shape }) =>
      shape.namespace === entry.namespace &&
      // As upstream, an empty selector of a budget matches no pod here.
      requirements.length > 0 &&
      matchesLabels(requirements, shape.labels),
    allowed: status?.disruptionsAllowed ?? 0,
    isDisrupted: (podName) => disrupted.has(podName),
  };
}

function limitsOf(entry: CachedObject): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const { name, allocatable } of typed<CSINode>(entry.object()).spec.drivers) {
    if (allocatable?.count !== undefined) limits.set(name, allocatable.count);
  }
  return limits;
}

/** Selectors of the services and the owner of pods. */
function createSpreadSelectors(
  deps: SurroundingsDeps,
  services: ReadonlyMap<string, CachedObject>,
): { readonly of: Surroundings['spreadSelector']; readonly forget: () => void } {
  let known = new WeakMap<PodShape, { readonly requirements: readonly Requirement[] | undefined }>();

  function ownerSelector(namespace: string, owner: OwnerRef): readonly Requirement[] {
    const plural = OWNERS[owner.kind];
    const [group = '', version = ''] = owner.apiVersion.includes('/')
      ? owner.apiVersion.split('/')
      : ['', owner.apiVersion];
    const resource = plural === undefined ? undefined : deps.registry.find(group, version, plural);
    if (resource === undefined) return [];
    const object = deps.cache.resource(resource.storage).get(`${namespace}/${owner.name}`)?.object();
    if (object === undefined) return [];
    if (owner.kind === 'ReplicationController') {
      return equalTo(typed<ReplicationController>(object).spec?.selector ?? {});
    }
    const selector = typed<ReplicaSet>(object).spec?.selector;
    return selector === undefined ? [] : selectorRequirements(selector);
  }

  function find(shape: PodShape): readonly Requirement[] | undefined {
    const requirements: Requirement[] = [];
    for (const service of services.values()) {
      if (service.namespace !== shape.namespace) continue;
      const selector = typed<Service>(service.object()).spec?.selector;
      if (selector === undefined || empty(selector)) continue;
      const wanted = equalTo(selector);
      if (matchesLabels(wanted, shape.labels)) requirements.push(...wanted);
    }
    if (shape.owner !== undefined) requirements.push(...ownerSelector(shape.namespace, shape.owner));
    return requirements.length === 0 ? undefined : requirements;
  }

  return {
    of(shape) {
      const found = known.get(shape) ?? { requirements: find(shape) };
      known.set(shape, found);
      return found.requirements;
    },
    forget() {
      known = new WeakMap();
    },
  };
}

const OWNERS: Readonly<Record<string, string>> = {
  ReplicaSet: 'replicasets',
  StatefulSet: 'statefulsets',
  ReplicationController: 'replicationcontrollers',
};

const newMap = (): Map<string, CachedObject> => new Map();

export function createSurroundings(deps: SurroundingsDeps): LiveSurroundings {
  const { registry, cache, vocabulary, gates, onVolumes } = deps;
  const storageGroup = `storage.${vocabulary.apiGroupDomain}`;
  const claims = registry.find('', 'v1', 'persistentvolumeclaims');
  const namespaces = registry.find('', 'v1', 'namespaces');
  const [services, volumes, classes, csiNodes, budgets] = [newMap(), newMap(), newMap(), newMap(), newMap()];
  const [drivers, capacities] = [newMap(), newMap()];
  const spread = createSpreadSelectors(deps, services);
  const handles = [
    follow(deps, ['', 'v1', 'services'], services, () => spread.forget()),
    follow(deps, ['', 'v1', 'persistentvolumes'], volumes, onVolumes),
    follow(deps, [storageGroup, 'v1', 'storageclasses'], classes, onVolumes),
    follow(deps, [storageGroup, 'v1', 'csinodes'], csiNodes, onVolumes),
    follow(deps, [storageGroup, 'v1', 'csidrivers'], drivers, onVolumes),
    follow(deps, [storageGroup, 'v1', 'csistoragecapacities'], capacities, onVolumes),
    follow(deps, ['policy', 'v1', 'poddisruptionbudgets'], budgets),
    claims && cache.resource(claims.storage).follow(() => onVolumes()),
  ];
  const reserved = new Map<string, string>();

  const view: Volumes = {
    claim(key) {
      const object = claims && cache.resource(claims.storage).get(key)?.object();
      return object === undefined ? undefined : typed<PersistentVolumeClaim>(object);
    },
    volume(name) {
      const object = volumes.get(name)?.object();
      return object === undefined ? undefined : typed<PersistentVolume>(object);
    },
    *volumesOfClass(storageClass) {
      for (const entry of volumes.values()) {
        const volume = typed<PersistentVolume>(entry.object());
        if ((volume.spec?.storageClassName ?? '') === storageClass) yield volume;
      }
    },
    storageClass(name) {
      const object = classes.get(name)?.object();
      return object === undefined ? undefined : typed<StorageClass>(object);
    },
    reportsCapacity(driver) {
      const object = drivers.get(driver)?.object();
      return object !== undefined && typed<CSIDriver>(object).spec.storageCapacity === true;
    },
    capacitiesOfClass: (storageClass) =>
      [...capacities.values()]
        .map((entry) => typed<CSIStorageCapacity>(entry.object()))
        .filter((capacity) => capacity.storageClassName === storageClass),
    reservedFor: (name) => reserved.get(name),
    limits(name) {
      const entry = csiNodes.get(name);
      return entry === undefined ? NO_LIMITS : limitsOf(entry);
    },
    migration: { domain: vocabulary.domain, gates },
    migrates(name) {
      const entry = csiNodes.get(name);
      const text = entry?.object().metadata.annotations?.[migratedPluginsAnnotation(vocabulary.domain)] ?? '';
      return text === '' ? NO_PLUGINS : new Set(text.split(','));
    },
  };
  return {
    labelKeys: schedulerLabelKeys(vocabulary),
    gates,
    volumes: view,
    namespaceLabels: (name) => (namespaces && cache.resource(namespaces.storage).get(name)?.labels) ?? {},
    spreadSelector: (shape) => spread.of(shape),
    budgets: () => [...budgets.values()].map(budgetOf).filter((budget) => budget !== undefined),
    reserve(volumeName, claimKey) {
      if (claimKey === undefined) reserved.delete(volumeName);
      else reserved.set(volumeName, claimKey);
    },
    close() {
      for (const handle of handles) handle?.close();
    },
  };
}
