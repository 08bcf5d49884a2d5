import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createSourceReporter, involvedObject } from './report.ts';
import type { DesiredState, RejectedManifest } from './types.ts';

const origin = { source: 'file', location: '/m/a.yaml', document: '2' } as const;
const empty: DesiredState = {
  pods: [],
  objects: [],
  rejected: [],
  conflicts: [],
  complete: true,
  unread: [],
};
const rejected: RejectedManifest = {
  origin,
  identity: 'Pod default/web',
  errors: [
    { kind: 'FieldValueRequired', field: 'spec.containers', detail: '' },
    { kind: 'FieldUnknown', field: 'spec.nonsense', detail: '' },
  ],
};

function createParts(): { events: string[]; report: (state: DesiredState) => void } {
  const events: string[] = [];
  const report = createSourceReporter({
    log: silentLogger,
    node: 'n1',
    event: ({ kind, name }, _type, reason, message) => events.push(`${kind}/${name} ${reason}: ${message}`),
  });
  return { events, report };
}

describe('createSourceReporter', () => {
  test('reports a rejection once, and again after it was gone', () => {
    const { events, report } = createParts();
    report({ ...empty, rejected: [rejected] });
    report({ ...empty, rejected: [rejected] });
    expect(events).toEqual([
      'Pod/web ManifestRejected: /m/a.yaml, document 2: spec.containers: Required value (and 1 more)',
    ]);
    report(empty);
    report({ ...empty, rejected: [rejected] });
    expect(events).toHaveLength(2);
  });

  test('reports another error of the same manifest', () => {
    const { events, report } = createParts();
    report({ ...empty, rejected: [rejected] });
    report({ ...empty, rejected: [{ ...rejected, errors: rejected.errors.slice(1) }] });
    expect(events).toHaveLength(2);
  });

  test('reports both sides of a name conflict', () => {
    const { events, report } = createParts();
    const winner = { ...origin, location: '/m/0.yaml', document: '1' };
    report({ ...empty, conflicts: [{ identity: 'Pod default/web', winner, loser: origin }] });
    expect(events).toEqual([
      'Pod/web ManifestConflict: Pod default/web in /m/a.yaml, document 2 is ignored: /m/0.yaml, document 1 already defines it',
    ]);
  });
});

describe('involvedObject', () => {
  test.each([
    ['Pod default/web', { kind: 'Pod', namespace: 'default', name: 'web', apiVersion: 'v1' }],
    ['PersistentVolume disk', { kind: 'PersistentVolume', name: 'disk', apiVersion: 'v1' }],
    ['Manifest /m/a.yaml', { kind: 'Node', name: 'n1', uid: 'n1' }],
    ['Document 3', { kind: 'Node', name: 'n1', uid: 'n1' }],
    ['Pod', { kind: 'Node', name: 'n1', uid: 'n1' }],
  ])('of %s', (identity, expected) => {
    expect(involvedObject(identity, 'n1')).toEqual(expected);
  });
});
