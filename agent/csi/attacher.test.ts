import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { attachmentName, csiVolumeName } from '#api/meta/volume-names.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
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
  const told: string[] = [];
  const listeners = new Set<() => void>();
  let node: Node | undefined;
  const attacher = createAttacher(
    {
      client: server.client,
      clock,
      event: (event) => void events.push(event),
      podEvent: (pod, _type, reason, message) => {
        told.push(`${pod.metadata?.name} ${reason}: ${message}`);
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
    told,
    attacher,
    listeners,
    /** The node's status says that it is attached. */
    tellNode: (): void => {
      const name = csiVolumeName(vocabulary.domain, 'd.example', 'h');
      node = { status: { volumesAttached: [{ name, devicePath: '' }] } };
      for (const listener of listeners) listener();
    },
    /** What an attacher writes. */
    answer: (status: object, metadata: object = {}): void => {
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
  test('the node’s status says when, and the attachment what the driver is to know', async () => {
    const { attacher, server, answer, tellNode, listeners } = setUp(true);
    const attached = attacher.attach(ATTACHMENT, signal);
    answer({ attached: true, attachmentMetadata: { lun: '3' } });
    tellNode();
    expect(await attached).toEqual({ lun: '3' });
    expect(server.calls).toEqual([`get ${NAME}`]);
    expect(listeners.size).toBe(0);
  });

  test('an attachment alone is not enough: the controller may be taking it away', async () => {
    const { attacher, answer, clock } = setUp(true);
    answer({ attached: true });
    const ended = settled(attacher.attach(ATTACHMENT, signal));
    await clock.advance(10_000);
    expect(await ended).toMatchObject({
      message: `the volume is not attached to this node yet (VolumeAttachment ${NAME})`,
      reason: 'FailedMount',
    });
  });

  test('what keeps the attacher from it is told', async () => {
    const { attacher, answer, clock } = setUp(true);
    answer({ attached: false, attachError: { message: 'the machine has no slot left' } });
    const ended = settled(attacher.attach(ATTACHMENT, signal));
    await clock.advance(10_000);
    expect(String(await ended)).toContain('the machine has no slot left');
  });

  test('the controller tells pods of it', () => {
    expect(setUp(true).attacher.attached).toBeUndefined();
  });

  test('detaching is nobody’s business here', async () => {
    const { attacher, server } = setUp(true);
    await attacher.detach(ATTACHMENT, signal);
    expect(server.calls).toEqual([]);
  });
});

describe('where the agent attaches', () => {
  test('it makes the attachment, and waits for its attacher', async () => {
    const { attacher, server, answer } = setUp(false);
    const attached = attacher.attach(ATTACHMENT, signal);
    await server.whenWatched;
    expect(server.get(NAME)).toMatchObject({
      apiVersion: `storage.${vocabulary.apiGroupDomain}/v1`,
      kind: 'VolumeAttachment',
      spec: { attacher: 'd.example', nodeName: 'n1', source: { persistentVolumeName: 'pv' } },
    });
    answer({ attached: false });
    answer({ attached: true, attachmentMetadata: { slot: '9' } });
    expect(await attached).toEqual({ slot: '9' });
  });

  test('it tells the pod that a volume is attached', () => {
    const { attacher, told } = setUp(false);
    attacher.attached?.({ metadata: { name: 'web' } }, 'pv');
    expect(told).toEqual(['web SuccessfulAttachVolume: AttachVolume.Attach succeeded for volume "pv"']);
  });

  test('one that is there already is as good', async () => {
    const { attacher, answer } = setUp(false);
    answer({ attached: true });
    expect(await attacher.attach(ATTACHMENT, signal)).toEqual({});
  });

  test('one that is being deleted is not', async () => {
    const { attacher, answer, clock, server } = setUp(false);
    answer({ attached: true }, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x/y'] });
    const ended = settled(attacher.attach(ATTACHMENT, signal));
    await server.whenWatched;
    await clock.advance(10_000);
    expect(String(await ended)).toContain('its attacher has not answered');
  });

  test('what the attacher says is told at once, as a failure to attach', async () => {
    const { attacher, answer } = setUp(false);
    answer({ attached: false, attachError: { message: 'no such disk' } });
    expect(await settled(attacher.attach(ATTACHMENT, signal))).toMatchObject({
      name: 'VolumeSetupError',
      reason: 'FailedAttachVolume',
      message: `the volume is not attached to this node yet (VolumeAttachment ${NAME}): no such disk`,
    });
  });

  test('a server that does not allow it is named with what is missing', async () => {
    const { attacher, server } = setUp(false);
    server.refuse('create', refused(403, 'volumeattachments is forbidden'));
    expect(await settled(attacher.attach(ATTACHMENT, signal))).toMatchObject({
      name: 'AttachRefusedError',
      reason: 'FailedAttachVolume',
      message:
        'the volume could not be attached: volumeattachments is forbidden; an agent that attaches by itself has to be allowed to get, list, watch, create and delete volumeattachments',
    });
  });

  test('it deletes the attachment, and waits until it is gone', async () => {
    const { attacher, server, answer, events } = setUp(false);
    answer({ attached: true }, { finalizers: ['x/y'] });
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
    ['that nobody answers', {}, 60_000, 'its attacher has not answered'],
  ])('a detachment that fails is an event of the node, with %s', async (_, status, afterMs, why) => {
    const { attacher, server, answer, events, clock } = setUp(false);
    answer({ attached: true }, { finalizers: ['x/y'] });
    const ended = settled(attacher.detach(ATTACHMENT, signal));
    await server.whenWatched;
    answer({ attached: true, ...status }, { finalizers: ['x/y'], deletionTimestamp: '2026-01-01T00:00:00Z' });
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

  test('an end that comes meanwhile ends the wait', async () => {
    const { attacher, server } = setUp(false);
    const stop = new AbortController();
    const ended = settled(attacher.attach(ATTACHMENT, stop.signal));
    await server.whenWatched;
    stop.abort(new Error('the agent ends'));
    expect(String(await ended)).toContain('the agent ends');
  });
});
