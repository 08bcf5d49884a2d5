/** Services and the pods that they select. Follows the cache; a service is due when one of its pods changes. */

import { matchesLabels } from '#api/meta/selectors.ts';
import type { Service } from '#api/schema/gen/core-v1.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { createOwners, type Owner } from '../workloads-kit/owners.ts';

export interface Services extends WatchHandle {
  get(key: string): Owner | undefined;
  /** The pods that the service selects. */
  podsOf(owner: Owner): readonly CachedObject[];
}

export interface ServicesDeps {
  readonly services: Pick<ResourceCache, 'follow'>;
  readonly resource: Pick<Resource, 'info'>;
  readonly pods: Pick<ResourceCache, 'follow'>;
}

export interface ServicesListener {
  readonly onService: (key: string) => void;
  /** A pod of the service changed. */
  readonly onPods: (key: string) => void;
}

export function followServices(deps: ServicesDeps, { onService, onPods }: ServicesListener): Services {
  const owners = createOwners(deps.services, deps.resource, {
    selectorOf: (object) => {
      const { selector } = typed<Service>(object).spec ?? {};
      return selector === undefined ? undefined : { matchLabels: selector };
    },
    onChange: onService,
  });
  const namespaces = new Map<string, Map<string, CachedObject>>();

  const following = deps.pods.follow(({ type, current }) => {
    const pods = namespaces.get(current.namespace) ?? new Map<string, CachedObject>();
    const before = pods.get(current.key);
    if (type === 'DELETED') pods.delete(current.key);
    else pods.set(current.key, current);
    if (pods.size === 0) namespaces.delete(current.namespace);
    else namespaces.set(current.namespace, pods);
    const labels = [...(before === undefined ? [] : [before.labels]), current.labels];
    const keys = labels.flatMap((each) => owners.matching(current.namespace, each)).map(({ key }) => key);
    for (const key of new Set(keys)) onPods(key);
  });

  return {
    get: (key) => owners.get(key),
    podsOf: ({ namespace, requirements }) =>
      requirements.length === 0
        ? []
        : [...(namespaces.get(namespace)?.values() ?? [])].filter(({ labels }) =>
            matchesLabels(requirements, labels),
          ),
    close() {
      following.close();
      owners.close();
    },
  };
}
