/** NodeMetrics and PodMetrics: computed on read, never stored. */

import type { NodeMetrics, PodMetrics } from '#api/gen/metrics-v1beta1.ts';
import { addQuantities, formatQuantity } from '#api/meta/quantity.ts';
import type { KindEntry } from '../../contract.ts';
import { typed } from '../../view.ts';

const sum = (amounts: readonly string[]): string =>
  amounts.reduce((total, amount) => formatQuantity(addQuantities(total, amount)), '0');

export const nodeMetrics: KindEntry = {
  strategy: {
    countsGeneration: false,
    row(object) {
      const { usage, window } = typed<NodeMetrics>(object);
      return [object.metadata.name ?? '', usage['cpu'] ?? '', usage['memory'] ?? '', window];
    },
  },
};

export const podMetrics: KindEntry = {
  strategy: {
    countsGeneration: false,
    row(object) {
      const { containers, window } = typed<PodMetrics>(object);
      const total = (resource: string): string => sum(containers.map(({ usage }) => usage[resource] ?? '0'));
      return [object.metadata.name ?? '', total('cpu'), total('memory'), window];
    },
  },
};
