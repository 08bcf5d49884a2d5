/** Sandboxes without a home. */
import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { PodSandbox } from '#cri/gen/cri-v1.ts';
import { criKeys } from '../pod-identity/labels.ts';
import { homelessAmong } from './runtime-info.ts';

const sandbox = (labels: object, annotations: object): PodSandbox =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no more of it is looked at
  ({ id: 's', labels, annotations }) as unknown as PodSandbox;

test.each(['plat', 'kubernetes'] as const)(
  'those of an agent without a root directory, in the vocabulary %s',
  (name) => {
    const keys = criKeys(VOCABULARIES[name]);
    const labels = { [keys.instance]: 'i', [keys.podNamespace]: 'default', [keys.podName]: 'web' };
    expect(
      homelessAmong([
        sandbox(labels, {}),
        sandbox(labels, { [keys.rootDir]: '/var/lib/x' }),
        // Of another kind of agent.
        sandbox({ [keys.podName]: 'web' }, {}),
      ]),
    ).toEqual([{ id: 's', pod: 'default/web', instance: 'i' }]);
  },
);
