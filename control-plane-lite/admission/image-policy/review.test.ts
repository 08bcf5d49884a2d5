import { expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { reviewSpecOf } from './review.ts';

const words = VOCABULARIES.kubernetes;
const POD: Pod = {
  metadata: { name: 'web' },
  spec: {
    containers: [{ name: 'c', image: 'main' }],
    initContainers: [{ name: 'i', image: 'init' }],
    ephemeralContainers: [{ name: 'e', image: 'debug' }],
  },
};
const imagesOf = (subresource: string): readonly unknown[] =>
  (reviewSpecOf(POD, { namespace: 'n', subresource }, words).containers ?? []).map(({ image }) => image);

// CVE-2023-2727: images of ephemeral containers were not reviewed.
test('images of every container of a pod are reviewed when they are added', () => {
  expect(imagesOf('')).toEqual(['main', 'init']);
  expect(imagesOf('ephemeralcontainers')).toEqual(['debug']);
});
