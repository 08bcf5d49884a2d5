import { mkdir, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTestDevices, secretOf, type TestDevices } from '../devices/devices.fixture.ts';
import { type Rest, type RestCall, RestError } from '../network/rest.ts';
import { createStorageos, readApi, storageosPlugin } from './storageos.ts';

const { domain } = VOCABULARIES.plat;
const SPEC = { volumeName: 'vol', volumeNamespace: 'ns' };

interface Service {
  readonly rest: Rest;
  readonly asked: readonly RestCall[];
}

function serviceWith(responses: Readonly<Record<string, object>>): Service {
  const asked: RestCall[] = [];
  const rest: Rest = async (call) => {
    asked.push(call);
    const { pathname } = new URL(call.url);
    const response = responses[pathname];
    if (response === undefined) throw new RestError(`${pathname} returned status 404: none`, 404);
    return response;
  };
  return { rest, asked };
}

/** Creates a node on which the service exposes volume `id-1` as a file. */
async function node(): Promise<TestDevices & Service & { readonly file: string }> {
  const loops: string[] = [];
  const devices = await createTestDevices({
    losetup: async (args) => {
      loops.push(args.join(' '));
      return { stdout: '/dev/loop7\n' };
    },
  });
  const folder = devices.path('volumes');
  await mkdir(folder);
  await mkdir(devices.path('sys/block'), { recursive: true });
  await writeFile(join(folder, 'id-1'), '');
  const service = serviceWith({
    '/v1/namespaces/ns/volumes/vol': { id: 'id-1' },
    [`/v1/nodes/${hostname()}`]: { deviceDir: folder },
    '/v1/namespaces/ns/volumes/vol/mount': {},
    '/v1/namespaces/ns/volumes/vol/unmount': {},
  });
  return { ...devices, ...service, file: join(folder, 'id-1') };
}

const loginOf = (call: RestCall | undefined): string =>
  Buffer.from((call?.headers?.['authorization'] ?? '').replace('Basic ', ''), 'base64').toString();

const { signal } = new AbortController();

describe('storageos', () => {
  it('finds the volume through the service of the node, and creates a loop device for a file', async () => {
    await using world = await node();
    const device = await storageosPlugin(world.rest).attach(SPEC, world.services, world.save, signal);
    expect(device).toBe('/dev/loop7');
    expect(world.ran).toEqual([`losetup --find --show -- ${world.file}`]);
    expect(world.asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET http://localhost:5705/v1/namespaces/ns/volumes/vol',
      `GET http://localhost:5705/v1/nodes/${hostname()}`,
      'POST http://localhost:5705/v1/namespaces/ns/volumes/vol/mount',
    ]);
    expect(world.asked[2]?.body).toMatchObject({
      id: 'id-1',
      client: hostname(),
      name: 'vol',
      namespace: 'ns',
    });
    expect(loginOf(world.asked[0])).toBe('storageos:storageos');
    expect(world.saved).toEqual([
      { address: 'http://localhost:5705', path: '/namespaces/ns/volumes/vol', file: world.file },
    ]);
  });

  it('uses the service of its secret, and stores no credentials', async () => {
    await using world = await node();
    const login = { apiAddress: 'tcp://10.0.0.1:5705', apiUsername: 'bob', apiPassword: 'sesame' };
    world.secrets.set('default/api', secretOf(login));
    world.secrets.set('other/api', secretOf({ ...login, apiAddress: 'https://sos.example.com' }));
    const plugin = storageosPlugin(world.rest);
    await plugin.attach({ ...SPEC, secretRef: { name: 'api' } }, world.services, world.save, signal);
    expect([world.asked[0]?.url, loginOf(world.asked[0])]).toEqual([
      'http://10.0.0.1:5705/v1/namespaces/ns/volumes/vol',
      'bob:sesame',
    ]);
    const elsewhere = { name: 'api', namespace: 'other' };
    await plugin.attach({ ...SPEC, secretRef: elsewhere }, world.services, world.save, signal);
    expect(world.asked[3]?.url).toBe('https://sos.example.com/v1/namespaces/ns/volumes/vol');
    expect(JSON.stringify(world.saved)).not.toContain('sesame');
  });

  it('reports the detachment, if the service is available', async () => {
    await using world = await node();
    const plugin = storageosPlugin(world.rest);
    await plugin.attach(SPEC, world.services, world.save, signal);
    const [state = {}] = world.saved;
    await plugin.detach?.(state, world.services, signal);
    expect(world.asked.at(-1)).toMatchObject({ method: 'POST', body: { client: hostname() } });
    await plugin.detach?.({ ...state, path: '/gone' }, world.services, signal);
  });

  it('detaches the loop device of the file', async () => {
    await using world = await node();
    await world.write('sys/block/loop7/loop/backing_file', `${world.file}\n`);
    const state = { address: 'http://localhost:5705', path: '/namespaces/ns/volumes/vol', file: world.file };
    await storageosPlugin(world.rest).detach?.(state, world.services, signal);
    expect(world.ran).toEqual([`losetup --detach ${world.path('dev/loop7')}`]);
  });

  test.each<[string, Readonly<Record<string, object>>, string]>([
    ['no such volume', {}, 'returned status 404'],
    [
      'a name that leads elsewhere',
      { '/v1/namespaces/ns/volumes/vol': { id: '../etc' } },
      'has no volume vol',
    ],
    [
      'a volume that is not on this node',
      { '/v1/namespaces/ns/volumes/vol': { id: 'none' }, '/v1/namespaces/ns/volumes/vol/mount': {} },
      'has not created /var/lib/storageos/volumes/none',
    ],
  ])('fails with %s', async (_, responses, message) => {
    await using world = await node();
    const plugin = storageosPlugin(serviceWith(responses).rest);
    await expect(plugin.attach(SPEC, world.services, world.save, signal)).rejects.toThrow(message);
  });

  it('has a name unique on the node, and ext4 by default', () => {
    const plugin = storageosPlugin(serviceWith({}).rest);
    expect(plugin.identify(SPEC, domain)).toEqual({
      uniqueName: `${domain}/storageos/ns:vol`,
      fsType: 'ext4',
      readOnly: false,
    });
    const other = { ...SPEC, fsType: 'xfs', readOnly: true };
    expect(plugin.identify(other, domain)).toMatchObject({ fsType: 'xfs', readOnly: true });
    expect(() => plugin.identify({}, domain)).toThrow('storageos.volumeName');
  });

  it('is not a raw device', () => {
    expect(createStorageos(serviceWith({}).rest).about.block).toBe(false);
    expect(createStorageos(serviceWith({}).rest).bind({})).toBeUndefined();
  });
});

describe('readApi', () => {
  it.each(['ftp://x', 'http://bob:secret@host', 'tcp://', 'http://host/path?x', 'nowhere'])(
    'rejects %j',
    (apiAddress) => {
      const read = (): unknown => readApi(new Map([['apiAddress', Buffer.from(apiAddress)]]));
      expect(read).toThrow('apiAddress');
      expect(read).toThrow(expect.not.stringContaining('secret@'));
    },
  );
});
