/** Service strategy with its pools in memory, for tests of services. */

import type { Service, ServiceSpec } from '#api/gen/core-v1.ts';
import { parseIpRange } from '#api/meta/ip.ts';
import type { ApiObject, KindEntry } from '../contract.ts';
import { typed } from '../view.ts';
import { createMemoryStore } from './allocation/memory-store.fixture.ts';
import { createServiceAllocation } from './allocation/service-allocation.ts';
import { serviceKind } from './service.ts';
import {
  changed,
  contextWith,
  createFaultsOf,
  NOW_MS,
  objectOf,
  updateFaultsOf,
} from './strategy.fixture.ts';

export const BASE: { readonly metadata: object; readonly spec: object } = {
  metadata: { name: 'web', namespace: 'default' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
};
const context = contextWith();

export interface Bench {
  readonly kind: KindEntry;
  readonly keys: () => readonly string[];
  create(changes?: object): Promise<ApiObject>;
  update(old: ApiObject, spec: object): Promise<ApiObject>;
}

/** A service's kind with its pools. The first free value is always the lowest. */
function benchOf(...ranges: readonly string[]): Bench {
  const memory = createMemoryStore();
  const clusterIPRanges = ranges.flatMap((text) => parseIpRange(text) ?? []);
  const allocation = createServiceAllocation(
    { store: memory.store, random: () => 0, now: () => NOW_MS },
    { clusterIPRanges, nodePorts: { first: 30_000, last: 30_009 } },
  );
  const kind = serviceKind(allocation);
  const { strategy } = kind;
  return {
    kind,
    keys: () => memory.keys().map((key) => key.replace('/ranges/services/', '')),
    async create(changes = {}) {
      const draft = prepared(kind, changes);
      const errors = createFaultsOf(kind, draft);
      if (errors.length > 0) throw new Error(errors.join(', '));
      await strategy.reserve?.(draft, undefined, context);
      return draft;
    },
    async update(old, spec) {
      const draft = objectOf('core/v1.Service', { metadata: old.metadata, spec });
      strategy.prepareForUpdate?.(draft, old, context);
      const errors = updateFaultsOf(kind, draft, old);
      if (errors.length > 0) throw new Error(errors.join(', '));
      await strategy.reserve?.(draft, old, context);
      await strategy.settle?.(draft, old);
      return draft;
    },
  };
}

export const single = (): Bench => benchOf('10.0.0.0/24');
export const dual = (): Bench => benchOf('10.0.0.0/24', 'fd00::/112');

export function prepared({ strategy }: KindEntry, changes: object): ApiObject {
  const draft = objectOf('core/v1.Service', changed(BASE, changes));
  strategy.prepareForCreate?.(draft, context);
  return draft;
}
export const specOf = (object: ApiObject): ServiceSpec => typed<Service>(object).spec ?? {};
export const type = (name: string, more: object = {}): object => ({ spec: { type: name, ...more } });
