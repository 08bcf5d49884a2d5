/** Time-dependent cases of attaching: attachers that do not respond, nodes that do not release a volume,
 *  deleted volumes. On a store in memory, with a clock that the test advances. */

import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Event } from '#api/gen/core-v1.ts';
import { attachmentName, csiVolumeName } from '#api/meta/volume-names.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { createMemoryPlane } from '../skeleton/memory-plane.fixture.ts';
import { runController } from '../skeleton/run.ts';
import { attachDetachController } from './controller.ts';

const vocabulary = VOCABULARIES.plat;
const { domain } = vocabulary;
const STORAGE = `storage.${vocabulary.apiGroupDomain}`;
const DRIVER = 'd.example';
const UNIQUE = csiVolumeName(domain, DRIVER, 'h');
const NAME = attachmentName(DRIVER, 'h', 'n');
const PLURALS: readonly (readonly [string, string])[] = [
  ['', 'pods'],
  ['', 'nodes'],
  ['', 'persistentvolumes'],
  ['', 'persistentvolumeclaims'],
  ['', 'events'],
  [STORAGE, 'volumeattachments'],
  [STORAGE, 'csidrivers'],
  [STORAGE, 'csinodes'],
];

interface World extends AsyncDisposable {
  put(plural: string, name: string, object: object, subresource?: 'status'): Promise<void>;
  remove(plural: string, name: string): Promise<void>;
  get(plural: string, name: string): ApiObject | undefined;
  messages(): readonly string[];
  pass(ms: number): Promise<void>;
}

async function begin(): Promise<World> {
  const { host, stop } = await createMemoryPlane();
  const { registry, cache, verbs, clock } = host;
  const resources = new Map<string, Resource>();
  for (const [group, plural] of PLURALS) {
    const resource = registry.find(group, 'v1', plural);
    if (resource === undefined) throw new Error(`no ${plural}`);
    resources.set(plural, resource);
  }
  const running = runController(attachDetachController, host, stop.signal);
  const caller = controllerCaller('test', stop.signal);
  const resource = (plural: string): Resource => {
    const found = resources.get(plural);
    if (found === undefined) throw new Error(`no ${plural}`);
    return found;
  };
  const refOf = (plural: string, name: string): { resource: Resource; namespace: string; name: string } => ({
    resource: resource(plural),
    namespace: resource(plural).info.namespaced ? 'default' : '',
    name,
  });
  const settle = async (): Promise<void> => {
    for (let turns = 0; turns < 40; turns += 1) await turn();
  };
  const world: World = {
    async put(plural, name, object, subresource) {
      const ref = refOf(plural, name);
      const { info, schema } = ref.resource;
      const part = subresource === undefined ? { allowCreate: true as const } : { subresource };
      await verbs.update({
        ref,
        change: (live: ApiObject | undefined) => {
          const base: ApiObject = live ?? {
            apiVersion: info.group === '' ? info.version : `${info.group}/${info.version}`,
            kind: info.kind,
            metadata: { name, ...(ref.namespace === '' ? {} : { namespace: ref.namespace }) },
          };
          const next = {
            ...base,
            ...object,
            metadata: { ...base.metadata, ...(object as Partial<ApiObject>).metadata },
          };
          schema.applyDefaults(next);
          return next;
        },
        dryRun: false,
        fieldManager: 'test',
        ...part,
        caller,
      });
      await settle();
    },
    async remove(plural, name) {
      await verbs.delete({ ref: refOf(plural, name), dryRun: false, gracePeriodSeconds: 0, caller });
      await settle();
    },
    get(plural, name) {
      const { namespace } = refOf(plural, name);
      const key = namespace === '' ? name : `${namespace}/${name}`;
      return cache.resource(resource(plural).storage).get(key)?.object();
    },
    messages: () =>
      [...items()].map(
        (event) => `${event.involvedObject.name ?? ''}: ${event.message ?? ''} (${event.count ?? 0})`,
      ),
    async pass(ms) {
      await clock.advance(ms);
      await settle();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await settle();
      await running;
    },
  };
  function* items(): Generator<Event> {
    const page = cache.resource(resource('events').storage).list({ labels: [], fields: [] });
    if (page instanceof Promise) throw new Error('the newest state is at hand');
    for (const item of page.items) yield typed<Event>(item.object());
  }
  return world;
}

/** A node with a pod whose volume has an attachment request. */
async function beginWithPod(): Promise<World> {
  const world = await begin();
  const annotations = { [`volumes.${domain}/controller-managed-attach-detach`]: 'true' };
  await world.put('nodes', 'n', { metadata: { annotations } });
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  await world.put('persistentvolumeclaims', 'c', {
    spec: { ...spec, volumeName: 'pv', resources: { requests: { storage: '1Gi' } } },
  });
  await world.put('persistentvolumeclaims', 'c', { status: { phase: 'Bound' } }, 'status');
  const uid = world.get('persistentvolumeclaims', 'c')?.metadata.uid;
  await world.put('persistentvolumes', 'pv', {
    spec: {
      ...spec,
      capacity: { storage: '1Gi' },
      claimRef: { namespace: 'default', name: 'c', uid },
      csi: { driver: DRIVER, volumeHandle: 'h' },
    },
  });
  await world.put('pods', 'p', {
    spec: {
      nodeName: 'n',
      containers: [{ name: 'main', image: 'app' }],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
    },
  });
  return world;
}

/** The same, attached, in use, and reported to the node. */
async function beginAttached(): Promise<World> {
  const world = await beginWithPod();
  await world.put('volumeattachments', NAME, { status: { attached: true } }, 'status');
  const status = world.get('nodes', 'n')?.['status'];
  expect(status).toMatchObject({ volumesAttached: [{ name: UNIQUE }] });
  await world.put(
    'nodes',
    'n',
    { status: { volumesInUse: [UNIQUE], volumesAttached: [{ name: UNIQUE, devicePath: '' }] } },
    'status',
  );
  return world;
}

const isThere = (world: World): boolean => world.get('volumeattachments', NAME) !== undefined;

describe('attachDetachController', () => {
  test('reports every two minutes that an attacher does not respond', async () => {
    await using world = await beginWithPod();
    expect(isThere(world)).toBe(true);
    await world.pass(119_000);
    expect(world.messages()).toEqual([]);
    await world.pass(1000);
    const message = `p: AttachVolume.Attach failed for volume "pv" : timed out waiting for external-attacher of ${DRIVER} CSI driver to attach volume h`;
    expect(world.messages()).toEqual([`${message} (1)`]);
    await world.pass(120_000);
    expect(world.messages()).toEqual([`${message} (2)`]);
  });

  test('takes a volume away from a node that uses it for six minutes after its last pod', async () => {
    await using world = await beginAttached();
    await world.remove('pods', 'p');
    await world.pass(359_000);
    expect(isThere(world)).toBe(true);
    expect(world.get('nodes', 'n')?.['status']).toMatchObject({ volumesAttached: [{ name: UNIQUE }] });
    await world.pass(1000);
    expect(isThere(world)).toBe(false);
    expect(world.get('nodes', 'n')?.['status']).not.toHaveProperty('volumesAttached');
  });

  test('counts anew where a pod came meanwhile', async () => {
    await using world = await beginAttached();
    const spec = world.get('pods', 'p')?.['spec'];
    await world.remove('pods', 'p');
    await world.pass(300_000);
    await world.put('pods', 'q', { spec });
    await world.remove('pods', 'q');
    await world.pass(300_000);
    expect(isThere(world)).toBe(true);
    await world.pass(60_000);
    expect(isThere(world)).toBe(false);
  });

  test('waits as long for a node that is gone', async () => {
    await using world = await beginAttached();
    await world.remove('nodes', 'n');
    await world.pass(359_000);
    expect(isThere(world)).toBe(true);
    await world.pass(1000);
    expect(isThere(world)).toBe(false);
  });

  test('each failed detachment is reported once, on the node and on the volume', async () => {
    await using world = await beginAttached();
    await world.put('volumeattachments', NAME, { metadata: { finalizers: ['x.io/attacher'] } });
    await world.put(
      'nodes',
      'n',
      { status: { volumesAttached: [{ name: UNIQUE, devicePath: '' }] } },
      'status',
    );
    await world.remove('pods', 'p');
    expect(world.get('volumeattachments', NAME)?.metadata.deletionTimestamp).toBeDefined();
    const fail = (message: string): Promise<void> =>
      world.put(
        'volumeattachments',
        NAME,
        { status: { attached: true, detachError: { message } } },
        'status',
      );
    await fail('busy');
    await world.put('nodes', 'n', { metadata: { labels: { some: 'change' } } });
    await world.pass(60_000);
    const message = `DetachVolume.Detach failed for volume "pv" on node "n" : busy`;
    const recordedMark = (): readonly string[] => world.messages().filter((each) => each.includes('Detach'));
    expect(recordedMark()).toEqual([`n: ${message} (1)`, `pv: ${message} (1)`]);
    await fail('still busy');
    expect(recordedMark()).toHaveLength(4);
  });

  test('waits as long where the volume itself is gone', async () => {
    await using world = await beginAttached();
    await world.put('persistentvolumes', 'pv', { metadata: { finalizers: [] } });
    await world.remove('persistentvolumes', 'pv');
    await world.pass(359_000);
    expect(isThere(world)).toBe(true);
    await world.pass(1000);
    expect(isThere(world)).toBe(false);
  });
});
