import { describe, expect, test } from 'vitest';
import type { PersistentVolumeClaimStatus } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createExpansionReports } from './expansion-reports.ts';

const { signal } = new AbortController();

function setUp(status: PersistentVolumeClaimStatus = {}, reportsProgress = false) {
  const patches: unknown[] = [];
  const events: string[] = [];
  const reports = createExpansionReports({
    client: {
      async patch(address, { type, content }) {
        patches.push({ address, type, content });
        return {};
      },
    },
    events: {
      event: ({ kind, namespace, name, uid }, type, reason, message) =>
        void events.push(`${kind} ${namespace}/${name} ${uid}: ${type} ${reason} ${message}`),
    },
    log: silentLogger,
    node: 'n1',
    reportsProgress,
    stop: signal,
  });
  const expansion = {
    pod: { metadata: { namespace: 'ns', name: 'p', uid: 'pu' } },
    claim: { metadata: { namespace: 'ns', name: 'c', uid: 'cu' }, status },
    volume: { metadata: { name: 'pv' } },
    size: '2Gi',
  };
  return { patches, events, reports, expansion };
}

const patch = (status: object) => ({
  address: {
    apiVersion: 'v1',
    resource: 'persistentvolumeclaims',
    namespace: 'ns',
    name: 'c',
    subresource: 'status',
  },
  type: 'strategic',
  content: { metadata: { uid: 'cu' }, status },
});
const conditions = [
  { $patch: 'delete', type: 'Resizing' },
  { $patch: 'delete', type: 'FileSystemResizePending' },
];

describe('createExpansionReports', () => {
  test('reports the new size of the claim, clears its condition, and emits events', async () => {
    const { patches, events, reports, expansion } = setUp();
    await reports.begun(expansion, signal);
    await reports.finished(expansion, signal);
    expect(patches).toEqual([patch({ capacity: { storage: '2Gi' }, conditions })]);
    const text =
      'Normal FileSystemResizeSuccessful MountVolume.NodeExpandVolume succeeded for volume "pv" n1';
    expect(events).toEqual([`Pod ns/p pu: ${text}`, `PersistentVolumeClaim ns/c cu: ${text}`]);
  });

  test('reports progress for claims with a resize status', async () => {
    const { patches, reports, expansion } = setUp({ resizeStatus: 'NodeExpansionPending' }, true);
    await reports.begun(expansion, signal);
    await reports.finished(expansion, signal);
    reports.failed(expansion, new Error('x'), false);
    expect(patches).toEqual([
      patch({ resizeStatus: 'NodeExpansionInProgress' }),
      patch({ capacity: { storage: '2Gi' }, conditions, resizeStatus: '' }),
      patch({ resizeStatus: 'NodeExpansionFailed' }),
    ]);
  });

  test('reports no progress for claims without a resize status', async () => {
    const { patches, reports, expansion } = setUp({}, true);
    await reports.begun(expansion, signal);
    reports.failed(expansion, new Error('x'), false);
    expect(patches).toEqual([]);
  });

  test('reports failures', () => {
    const { events, reports, expansion } = setUp();
    reports.failed(expansion, new Error('no room'), true);
    reports.failed(expansion, new Error('no room'), false);
    reports.readOnly(expansion);
    const failed = 'NodeExpandVolume.NodeExpandVolume failed for volume "pv" n1: no room';
    const readOnly =
      'MountVolume.NodeExpandVolume failed for volume "pv" n1: requested read-only file system';
    expect(events).toEqual([
      `Pod ns/p pu: Warning VolumeResizeFailed ${failed}`,
      `PersistentVolumeClaim ns/c cu: Warning FileSystemResizeFailed ${failed}`,
      `PersistentVolumeClaim ns/c cu: Warning FileSystemResizeFailed ${failed}`,
      `Pod ns/p pu: Warning FileSystemResizeFailed ${readOnly}`,
      `PersistentVolumeClaim ns/c cu: Warning FileSystemResizeFailed ${readOnly}`,
    ]);
  });
});
