import { createServer, type Server } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { ScaleIOPersistentVolumeSource } from '#api/gen/core-v1.ts';
import { createTestDevices, never, secretOf, type TestDevices } from '../devices/devices.fixture.ts';
import { scaleIoPlugin } from './scale-io.ts';

const GUID = '1A2B-3C';
const spec = { system: 'sio', volumeName: 'web', secretRef: { name: 'sio', namespace: 'ops' } };

interface World extends AsyncDisposable {
  readonly devices: TestDevices;
  readonly spec: ScaleIOPersistentVolumeSource;
  /** Machines to which the volume is mapped. */
  readonly mapped: Set<string>;
}

/** Responses of a gateway by path. */
function responseFor(mapped: Set<string>, path: string, body: string): [status: number, body: unknown] {
  const asked =
    body === '' ? undefined : (JSON.parse(body) as { readonly name?: string; readonly sdcId?: string });
  const sdcId = asked?.sdcId ?? '';
  if (path.endsWith('/addMappedSdc')) {
    if (mapped.has(sdcId)) return [500, { errorCode: 81, message: 'already mapped' }];
    mapped.add(sdcId);
    return [200, {}];
  }
  if (path.endsWith('/removeMappedSdc')) {
    return mapped.delete(sdcId) ? [200, {}] : [500, { errorCode: 84, message: 'not mapped' }];
  }
  if (path.endsWith('/queryIdByKey')) {
    return asked?.name === 'web'
      ? [200, 'a2b8']
      : [500, { errorCode: 79, message: 'Could not find the volume' }];
  }
  const known: Readonly<Record<string, unknown>> = {
    '/api/types/System/instances': [{ id: '788d', name: 'sio' }],
    '/api/instances/System::788d/relationships/Sdc': [{ id: 'm1', sdcGuid: GUID.toLowerCase() }],
    '/api/instances/Volume::a2b8': { id: 'a2b8', storagePoolId: 'p1' },
    '/api/instances/StoragePool::p1': { name: 'fast', protectionDomainId: 'd1' },
    '/api/instances/ProtectionDomain::d1': { name: 'west' },
  };
  const found = known[path];
  return found === undefined ? [404, {}] : [200, found];
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

async function createWorld(program = 'drv_cfg'): Promise<World> {
  const mapped = new Set<string>();
  const server: Server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { url = '', headers } = request;
      const login = url === '/api/login';
      const right = login ? basic('admin', 'pass') : basic('', 'token');
      const allowed = headers.authorization === right;
      const [status, reply] = allowed
        ? login
          ? [200, 'token']
          : responseFor(mapped, url, body)
        : [401, { message: 'Unauthorized' }];
      response.writeHead(status).end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const devices = await createTestDevices({ [program]: async () => ({ stdout: `${GUID}\n` }) });
  devices.secrets.set('ops/sio', secretOf({ username: 'admin', password: 'pass' }));
  await devices.write('dev/disk/by-id/emc-vol-788d-a2b8', '');
  return {
    devices,
    mapped,
    spec: { ...spec, gateway: `http://127.0.0.1:${port}/api` },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => server.close(resolve));
      await devices[Symbol.asyncDispose]();
    },
  };
}

const attach = (world: World, more: Partial<ScaleIOPersistentVolumeSource> = {}): Promise<string> =>
  scaleIoPlugin.attach({ ...world.spec, ...more }, world.devices.services, world.devices.save, never);

describe('identify', () => {
  const whole = { ...spec, gateway: 'https://gw.example/api' };

  test('names the volume by its system, with xfs by default', () => {
    expect(scaleIoPlugin.identify({ ...whole, readOnly: true }, 'd.example')).toEqual({
      uniqueName: 'd.example/scaleio/https://gw.example/api/sio/web',
      fsType: 'xfs',
      readOnly: true,
    });
  });

  test.each<[Partial<ScaleIOPersistentVolumeSource>, string]>([
    [{ gateway: 'gw.example' }, 'scaleIO.gateway "gw.example": must be an address'],
    [{ gateway: 'file:///etc/passwd' }, 'scaleIO.gateway'],
    [{ gateway: 'http://gw.example/api', sslEnabled: true }, 'must begin with https://'],
    [{ system: '' }, 'scaleIO.system: Required value'],
    [{ volumeName: '../x' }, 'scaleIO.volumeName "../x"'],
    [{ storageMode: 'Thin' }, 'must be one of ThickProvisioned, ThinProvisioned'],
  ])('rejects %j', (fields, message) => {
    expect(() => scaleIoPlugin.identify({ ...whole, ...fields }, 'd.example')).toThrow(message);
  });
});

describe('attach', () => {
  test('maps the volume through the gateway, and unmaps it', async () => {
    await using world = await createWorld();
    const { devices } = world;
    const wanted = { storagePool: 'fast', protectionDomain: 'west', storageMode: 'ThinProvisioned' };
    const device = devices.path('dev/disk/by-id/emc-vol-788d-a2b8');
    expect(await attach(world, wanted)).toBe(device);
    expect(await attach(world)).toBe(device);
    expect([...world.mapped]).toEqual(['m1']);
    expect(JSON.stringify([devices.saved, devices.ran])).not.toContain('pass');
    await scaleIoPlugin.detach?.(devices.saved.at(-1) ?? {}, devices.services, never);
    expect([...world.mapped]).toEqual([]);
    await scaleIoPlugin.detach?.(devices.saved.at(-1) ?? {}, devices.services, never);
  });

  test.each<[string, Partial<ScaleIOPersistentVolumeSource>, string]>([
    ['another pool', { storagePool: 'slow' }, 'scaleIO.storagePool "slow": the volume is in fast'],
    [
      'another domain',
      { protectionDomain: 'east' },
      'scaleIO.protectionDomain "east": the volume is in west',
    ],
    ['another system', { system: 'other' }, 'has no system other'],
    ['no such volume', { volumeName: 'none' }, 'Could not find the volume'],
    ['no secret', { secretRef: { name: 'none' } }, 'Secret default/none not found'],
    ['no listener', { gateway: 'http://127.0.0.1:1/api' }, 'request to 127.0.0.1:1 failed: ECONNREFUSED'],
  ])('reports the error: %s', async (_name, fields, message) => {
    await using world = await createWorld();
    await expect(attach(world, fields)).rejects.toThrow(message);
    expect(world.devices.saved).toEqual([]);
  });

  test('finds the client in its installation directory', async () => {
    await using world = await createWorld('/opt/emc/scaleio/sdc/bin/drv_cfg');
    expect(await attach(world)).toBe(world.devices.path('dev/disk/by-id/emc-vol-788d-a2b8'));
  });

  test('reports the package of a missing client', async () => {
    await using world = await createWorld('other');
    await expect(attach(world)).rejects.toThrow('PowerFlex');
  });

  test('reports a failed authentication without the credentials', async () => {
    await using world = await createWorld();
    world.devices.secrets.set('ops/sio', secretOf({ username: 'admin', password: 'wrong' }));
    await expect(attach(world)).rejects.toThrow('/api/login: 401, Unauthorized');
  });
});
