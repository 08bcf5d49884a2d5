import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { REVISION_LABEL } from '../workloads-kit/revisions.ts';
import { claimReferences, claimsFor, podNameLabel, statefulPod } from './pods.ts';

const vocabulary = VOCABULARIES.plat;
const set = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'ns', uid: 'u' },
};
const spec = {
  selector: { matchLabels: { app: 'db' } },
  serviceName: 'dbs',
  template: {
    metadata: { labels: { app: 'db' } },
    spec: {
      containers: [{ name: 'main', image: 'i' }],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  },
  volumeClaimTemplates: [{ metadata: { name: 'data', labels: { disk: 'fast' } }, spec: {} }],
};
const ref = (uid: string): { apiVersion: string; kind: string; name: string; uid: string } => ({
  apiVersion: 'v1',
  kind: 'X',
  name: uid,
  uid,
});

test('a pod has its name, its host name, and its claims for volumes', () => {
  const pod = statefulPod({
    set,
    spec,
    reference: ref('u'),
    ordinal: 2,
    template: spec.template,
    version: 'v1',
    vocabulary,
  });
  expect(pod).toMatchObject({
    metadata: {
      name: 'db-2',
      labels: { app: 'db', [podNameLabel(vocabulary)]: 'db-2', [REVISION_LABEL]: 'v1' },
    },
    spec: {
      hostname: 'db-2',
      subdomain: 'dbs',
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'data-db-2' } },
        { name: 'tmp', emptyDir: {} },
      ],
    },
  });
});

test('claims have the labels of the selector', () => {
  expect(claimsFor(set, spec, 1)).toMatchObject([
    { metadata: { name: 'data-db-1', namespace: 'ns', labels: { app: 'db', disk: 'fast' } } },
  ]);
});

describe('claimReferences', () => {
  test.each<[string, string, boolean, readonly string[]]>([
    ['Retain', 'Retain', false, ['other']],
    ['Retain', 'Retain', true, ['other']],
    ['Delete', 'Retain', true, ['other', 'set']],
    ['Retain', 'Delete', false, ['other']],
    ['Retain', 'Delete', true, ['other', 'pod']],
    ['Delete', 'Delete', false, ['other', 'set']],
    ['Delete', 'Delete', true, ['other', 'pod']],
  ])('deleted %s, scaled %s, surplus %j: %j', (whenDeleted, whenScaled, surplus, expected) => {
    const owners = { set: ref('set'), pod: ref('pod'), surplus };
    for (const before of [[ref('other')], [ref('other'), ref('set'), ref('pod')]]) {
      const after = claimReferences(before, { whenDeleted, whenScaled }, owners);
      expect(after.map(({ uid }) => uid)).toEqual(expected);
      expect(claimReferences(after, { whenDeleted, whenScaled }, owners)).toEqual(after);
    }
  });
});
