/** Services and the pods that they select. Follows the cache; queues a service when one of its pods
 *  changes. */
import type { Service } from '#api/gen/core-v1.ts';
import type { CachedObject, ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { createOwners, type Owner } from '../workloads-kit/owners.ts';
import { createLabelIndex } from './label-index.ts';

export interface Services extends WatchHandle {
  get(key: string): Owner | undefined;
  all(): Iterable<Owner>;
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
  const index = createLabelIndex();

  const following = deps.pods.follow(({ type, current }) => {
    const before = index.get(current.key);
    if (before !== undefined) index.remove(before);
    if (type !== 'DELETED') index.add(current);
    const labels = [...(before === undefined ? [] : [before.labels]), current.labels];
    const keys = labels.flatMap((each) => owners.matching(current.namespace, each)).map(({ key }) => key);
    for (const key of new Set(keys)) onPods(key);
  });

  return {
    get: (key) => owners.get(key),
    all: () => owners.all(),
    podsOf: ({ namespace, requirements }) => index.matching(namespace, requirements),
    close() {
      following.close();
      owners.close();
    },
  };
}
