import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { hugePageRefErrors } from './gated-fields.ts';
import { createManifestReader } from './manifest-set.ts';

const resourceFieldRef = { containerName: 'main', resource: 'limits.hugepages-2Mi' };
const item = { path: 'pages', resourceFieldRef };
const pod = {
  metadata: { name: 'web' },
  spec: {
    volumes: [
      { name: 'a', downwardAPI: { items: [item] } },
      { name: 'b', projected: { sources: [{ downwardAPI: { items: [item] } }] } },
    ],
    containers: [
      {
        name: 'main',
        image: 'web',
        resources: { limits: { 'hugepages-2Mi': '2Mi', memory: '64Mi' } },
        env: [{ name: 'PAGES', valueFrom: { resourceFieldRef } }],
      },
    ],
  },
};

test('every reference to huge pages is an error with its field', () => {
  expect(hugePageRefErrors(pod).map(({ field }) => field)).toEqual([
    'spec.containers[0].env[0].valueFrom.resourceFieldRef.resource',
    'spec.volumes[0].downwardAPI.items[0].resourceFieldRef.resource',
    'spec.volumes[1].projected.sources[0].downwardAPI.items[0].resourceFieldRef.resource',
  ]);
});

test.each([
  [true, 1, 0],
  [false, 0, 1],
])('with DownwardAPIHugePages=%s, %i pods are read and %i are rejected', async (gate, pods, rejected) => {
  const read = createManifestReader({
    clock: { now: () => 0 },
    nodeName: 'n1',
    vocabulary: VOCABULARIES.plat,
    downwardAPIHugePages: gate,
  });
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod });
  const place = { source: 'file', location: 'web.json' } as const;
  const set = await read(Buffer.from(text), place, undefined, new AbortController().signal);
  expect([set.pods.length, set.rejected.length]).toEqual([pods, rejected]);
});
