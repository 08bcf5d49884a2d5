import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { secretError } from './mountable.ts';

const account = {
  metadata: { name: 'robot' },
  secrets: [{ name: 'listed' }],
  imagePullSecrets: [{ name: 'registry' }],
};
const env = (name: string) => [{ name: 'A', valueFrom: { secretKeyRef: { name, key: 'k' } } }];

describe('secretError', () => {
  test.each<[string, Pod['spec'], RegExp]>([
    ['nothing', { containers: [] }, /^$/],
    [
      'listed secrets',
      {
        containers: [{ name: 'c', env: env('listed'), envFrom: [{ secretRef: { name: 'listed' } }] }],
        volumes: [{ name: 'v', secret: { secretName: 'listed' } }],
        imagePullSecrets: [{ name: 'registry' }],
      },
      /^$/,
    ],
    [
      'a volume',
      { containers: [], volumes: [{ name: 'v', secret: { secretName: 'x' } }] },
      /^volume with .*"x"/,
    ],
    ['a variable', { containers: [{ name: 'c', env: env('x') }] }, /^container c with envVar A/],
    [
      'all variables of a secret',
      { containers: [], initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: 'x' } }] }] },
      /^init container i with envFrom/,
    ],
    [
      'an ephemeral container',
      { containers: [], ephemeralContainers: [{ name: 'e', env: env('x') }] },
      /^ephemeral container e/,
    ],
    [
      'a secret for images that is only listed for others',
      { containers: [], imagePullSecrets: [{ name: 'registry' }, { name: 'listed' }] },
      /^imagePullSecrets\[1\]\.name="listed"/,
    ],
  ])('%s', (_, spec, expected) => {
    const error = secretError(spec === undefined ? {} : { spec }, account);
    expect(error ?? '').toMatch(expected);
  });
});
