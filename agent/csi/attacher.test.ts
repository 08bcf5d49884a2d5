import { describe, expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { attachmentName, csiVolumeName } from '#api/meta/volume-names.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { NodeEvent } from '../registration/node-status.ts';
import { createAttacher } from './attacher.ts';
import { createTestServer, refused } from './server.fixture.ts';

const vocabulary = VOCABULARIES.plat;
const ATTACHMENT = { driver: 'd.example', volumeHandle: 'h', source: { persistentVolumeName: 'pv' } };
const NAME = attachmentName('d.example', 'h', 'n1');
const { signal } = new AbortController();

function setUp(controllerAttaches: boolean) {
  const clock = createFakeClock();
  const server = createTestServer();
  const events: NodeEvent[] = [];
  const podEvents: string[] = [];
  const listeners = new Set<() => void>();
  let node: Node | undefined;
  const attacher = createAttacher(
    {
      client: server.client,
      clock,
      event: (event) => void events.push(event),
      podEvent: (pod, _type, reason, message) => {
        podEvents.push(`${pod.metadata?.name} ${reason}: ${message}`);
      },
      node: {
        current: () => node,
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
    },
    { nodeName: 'n1', vocabulary, controllerAttaches },
  );
  return {
    clock,
    server,
    events,
    podEvents,
    attacher,
    listeners,
    /** The node status lists the volume as attached. */
    updateNode: (): void => {
      const name = csiVolumeName(vocabulary.domain, 'd.example', 'h');
      node = { status: { volumesAttached: [{ name, devicePath: '' }] } };
      for (const listener of listeners) listener();
    },
    /** Status written by the attacher. */
    setStatus: (status: object, metadata: object = {}): void => {
      server.put(NAME, {
        metadata,
        spec: { attacher: 'd.example', nodeName: 'n1', source: { persistentVolumeName: 'pv' } },
        status,
      });
    },
  };
}

const settled = (work: Promise<unknown>): Promise<unknown> => work.catch((thrown: unknown) => thrown);

describe('where the controller attaches', () => {
  test('the node status shows attachment, and the VolumeAttachment has the parameters for the driver', async () => {
    const { attacher, server, setStatus, updateNode, listeners } = setUp(true);
    const attached = attacher.attach(ATTACHMENT, signal);
    setStatus({ attached: true, attachmentMetadata: { lun: '3' } });
    updateNode();
    expect(await attached).toEqual({ lun: '3' });
    expect(server.calls).toEqual([`get ${NAME}`]);
    expect(listeners.size).toBe(0);
  });

  test('a VolumeAttachment alone is not enough: it may be detaching', async () => {
    const { attacher, setStatus, clock } = setUp(true);
    setStatus({ attached: true });
    const ended = settled(attacher.attach(ATTACHMENT, signal));
    await clock.advance(10_000);
    expect(await ended).toMatchObject({
      message: `the volume is not attached to this node yet (VolumeAttachment ${NAME})`,
      reason: 'FailedMount',
    });
  });

  test('the error of the attacher is reported', async () => {
    const { attacher, setStatus, clock } = setUp(true);
    setStatus({ attached: false, attachError: { message: 'the machine has no slot left' } });
    const ended = settled(attacher.attach(ATTACHMENT, signal));
    await clock.advance(10_000);
    expect(String(await ended)).toContain('the machine has no slot left');
  });

  test('the controller emits the event', () => {
    expect(setUp(true).attacher.attached).toBeUndefined();
  });

  test('detaching is left to the controller', async () => {
    const { attacher, server } = setUp(true);
    await attacher.detach(ATTACHMENT, signal);
    expect(server.calls).toEqual([]);
  });
});

describe('where the agent attaches', () => {
  test('it creates the attachment, and waits for its attacher', async () => {
    const { attacher, server, setStatus } = setUp(false);
    const attached = attacher.attach(ATTACHMENT, signal);
    await server.whenWatched;
    expect(server.get(NAME)).toMatchObject({
      apiVersion: `storage.${vocabulary.apiGroupDomain}/v1`,
      kind: 'VolumeAttachment',
      spec: { attacher: 'd.example', nodeName: 'n1', source: { persistentVolumeName: 'pv' } },
    });
    setStatus({ attached: false });
    setStatus({ attached: true, attachmentMetadata: { slot: '9' } });
    expect(await attached).toEqual({ slot: '9' });
  });

  test('it emits an event when a volume is attached', () => {
    const { attacher, podEvents } = setUp(false);
    attacher.attached?.({ metadata: { name: 'web' } }, 'pv');
    expect(podEvents).toEqual(['web SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv"']);
  });

  test('an existing attachment is used', async () => {
    const { attacher, setStatus } = setUp(false);
    setStatus({ attached: true });
    expect(await attacher.attach(ATTACHMENT, signal)).toEqual({});
  });

  test('one that is being deleted is not used', async () => {
    const { attacher, setStatus, clock, server } = setUp(false);
    setStatus({ attached: true }, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] });
    const ended = settled(attacher.attach(ATTACHMENT, signal));
    await server.whenWatched;
    await clock.advance(10_000);
    expect(String(await ended)).toContain('its attacher has not responded');
  });

  test('an error of the attacher is reported immediately, as a failure to attach', async () => {
    const { attacher, setStatus } = setUp(false);
    setStatus({ attached: false, attachError: { message: 'no such disk' } });
    expect(await settled(attacher.attach(ATTACHMENT, signal))).toMatchObject({
      name: 'VolumeSetupError',
      reason: 'FailedAttachVolume',
      message: `the volume is not attached to this node yet (VolumeAttachment ${NAME}): no such disk`,
    });
  });

  test('a forbidden request is reported with the missing permissions', async () => {
    const { attacher, server } = setUp(false);
    server.refuse('create', refused(403, 'volumeattachments is forbidden'));
    expect(await settled(attacher.attach(ATTACHMENT, signal))).toMatchObject({
      name: 'AttachRefusedError',
      reason: 'FailedAttachVolume',
      message:
        'failed to attach the volume: volumeattachments is forbidden; an agent that attaches by itself has to be allowed to get, list, watch, create and delete volumeattachments',
    });
  });

  test('it deletes the attachment, and waits for its removal', async () => {
    const { attacher, server, setStatus, events } = setUp(false);
    setStatus({ attached: true }, { finalizers: ['x/y'] });
    const detached = attacher.detach(ATTACHMENT, signal);
    await server.whenWatched;
    expect(server.get(NAME)?.['metadata']).toHaveProperty('deletionTimestamp');
    server.put(NAME, undefined);
    await detached;
    expect(events).toEqual([]);
    await attacher.detach(ATTACHMENT, signal);
  });

  test.each([
    ['the attacher’s words', { detachError: { message: 'the disk is busy' } }, 0, 'the disk is busy'],
    ['without a response', {}, 60_000, 'its attacher has not responded'],
  ])('a failed detachment is a node event, with %s', async (_, status, afterMs, why) => {
    const { attacher, server, setStatus, events, clock } = setUp(false);
    setStatus({ attached: true }, { finalizers: ['x/y'] });
    const ended = settled(attacher.detach(ATTACHMENT, signal));
    await server.whenWatched;
    setStatus(
      { attached: true, ...status },
      { finalizers: ['x/y'], deletionTimestamp: '2026-01-01T00:00:00Z' },
    );
    await clock.advance(afterMs);
    expect(String(await ended)).toContain(`not detached yet (VolumeAttachment ${NAME}): ${why}`);
    expect(events).toEqual([
      {
        type: 'Warning',
        reason: 'FailedDetachVolume',
        message: `DetachVolume.Detach failed for volume "h" : ${why}`,
      },
    ]);
  });

  test('an abort ends the wait', async () => {
    const { attacher, server } = setUp(false);
    const stop = new AbortController();
    const ended = settled(attacher.attach(ATTACHMENT, stop.signal));
    await server.whenWatched;
    stop.abort(new Error('the agent ends'));
    expect(String(await ended)).toContain('the agent ends');
  });
});
