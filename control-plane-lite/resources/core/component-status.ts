/** ComponentStatuses: computed on read, never stored. */
import type { ComponentStatus } from '#api/gen/core-v1.ts';
import type { KindEntry } from '../contract.ts';
import { typed } from '../view.ts';

export const componentStatusKind: KindEntry = {
  strategy: {
    countsGeneration: false,
    row: (object) => {
      const { conditions = [] } = typed<ComponentStatus>(object);
      const healthy = conditions.find(({ type }) => type === 'Healthy');
      const word = healthy?.status === 'True' ? 'Healthy' : 'Unhealthy';
      return [
        object.metadata.name ?? '',
        healthy === undefined ? 'Unknown' : word,
        healthy?.message ?? '',
        healthy?.error ?? '',
      ];
    },
  },
};
