import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PortworxVolumeSource, ServicePort } from '#api/gen/core-v1.ts';
import type { SourcePlugin, SourceRequest } from '../contract/source.ts';
import { createTestRequest, mountInfo, type TestRequest } from '../network/request.fixture.ts';
import { type Rest, type RestCall, RestError } from '../network/rest.ts';
import { createPortworxVolume } from './portworx-volume.ts';

interface Served extends TestRequest {
  readonly plugin: SourcePlugin;
  readonly asked: readonly RestCall[];
  readonly dir: string;
  setUpIt(
    spec?: Partial<PortworxVolumeSource>,
    more?: Partial<SourceRequest>,
  ): ReturnType<TestRequest['setUp']>;
  tearDown(): Promise<void>;
}

/** Creates a service that mounts and unmounts. @param respond instead of doing so */
async function served(
  respond: (body: object) => object | undefined = () => undefined,
  fsType = 'ext4',
): Promise<Served> {
  const requested = await createTestRequest();
  const asked: RestCall[] = [];
  const rest: Rest = async (call) => {
    asked.push(call);
    const action: unknown = Reflect.get(call.body ?? {}, 'action');
    if (typeof action !== 'object' || action === null) throw new Error('no action');
    const reply = respond(action);
    if (reply !== undefined) return reply;
    const path = String(Reflect.get(action, 'mount_path'));
    const mount: unknown = Reflect.get(action, 'mount');
    if (mount === 2) requested.mounts.push(mountInfo(path, fsType));
    if (mount === 1)
      requested.mounts.splice(
        requested.mounts.findIndex(({ mountPoint }) => mountPoint === path),
        1,
      );
    return { volume_response: {} };
  };
  const plugin = createPortworxVolume(rest);
  const dir = join(requested.base, 'portworx-volume', 'data');
  return {
    ...requested,
    plugin,
    asked,
    dir,
    setUpIt: (spec = {}, more = {}) =>
      requested.setUp(plugin, { portworxVolume: { volumeID: 'vol-1', ...spec } }, more),
    async tearDown() {
      // The port was not persisted before several were supported.
      const state = requested.remembered.at(-1) ?? { volumeID: 'vol-1' };
      const record = { source: 'portworxVolume', volumeName: 'data', state };
      await plugin.tearDown?.(record, dir, requested.request.services, requested.request.signal);
    },
  };
}

const actionsOf = (asked: readonly RestCall[]): readonly unknown[] =>
  asked.map(({ body }): unknown => Reflect.get(body ?? {}, 'action'));

describe('portworxVolume', () => {
  it('is attached and mounted by the service of the node, once', async () => {
    await using requested = await served();
    const ready = await requested.setUpIt();
    await requested.setUpIt();
    expect(requested.asked[0]).toMatchObject({
      url: 'http://127.0.0.1:9001/v1/osd-volumes/vol-1',
      method: 'PUT',
      headers: { 'user-agent': 'pxd-sched/v1' },
    });
    expect(actionsOf(requested.asked)).toEqual([{ attach: 2 }, { mount: 2, mount_path: requested.dir }]);
    expect(ready).toEqual({
      hostPath: requested.dir,
      readOnly: false,
      seLinuxRelabel: false,
      changes: false,
    });
    expect(requested.remembered[0]).toEqual({ volumeID: 'vol-1', port: '9001' });
  });

  it('is read-only if the volume or the use of its claim is', async () => {
    await using requested = await served();
    expect((await requested.setUpIt({ readOnly: true })).readOnly).toBe(true);
    expect((await requested.setUpIt({}, { readOnly: true })).readOnly).toBe(true);
  });

  it.each([
    ['', 'xfs'],
    ['xfs', 'xfs'],
    ['ext4', 'nfs4'],
  ])('takes fsType %j of a volume with %s', async (asked, fsType) => {
    await using requested = await served(undefined, fsType);
    await requested.setUpIt({ fsType: asked });
    expect(requested.mounts).toHaveLength(1);
  });

  it('rejects another file system than it has', async () => {
    await using requested = await served(undefined, 'xfs');
    await expect(requested.setUpIt({ fsType: 'ext4' })).rejects.toThrow('portworxVolume.fsType');
  });

  it('reports the error of the service', async () => {
    await using requested = await served(() => ({
      volume_response: { error: 'Volume is attached on another node' },
    }));
    await expect(requested.setUpIt()).rejects.toThrow(
      'Portworx volume vol-1: Volume is attached on another node',
    );
    expect(requested.mounts).toEqual([]);
  });

  it.each(['', '../x', '-x', 'a/b', 'a b'])('rejects volumeID %j', async (volumeID) => {
    await using requested = await served();
    await expect(requested.setUpIt({ volumeID })).rejects.toThrow('portworxVolume.volumeID');
    expect(requested.asked).toEqual([]);
  });

  it('uses the target port of the Service, and the port used before', async () => {
    await using requested = await served();
    const { services } = requested.request;
    const withService = (
      ports: ServicePort[],
      more: Partial<SourceRequest> = {},
    ): Partial<SourceRequest> => ({
      ...more,
      services: {
        ...services,
        objects: {
          ...services.objects,
          getSystemService: async (name) => (name === 'portworx-service' ? { spec: { ports } } : undefined),
        },
      },
    });
    const other = { name: 'other', port: 9002, targetPort: 17_002 };
    await requested.setUpIt({}, withService([other, { name: 'api', port: 9001, targetPort: 17_001 }]));
    await requested.tearDown();
    await requested.setUpIt({}, withService([other]));
    await requested.tearDown();
    await requested.setUpIt({}, withService([{ port: 9001, targetPort: 'api' }]));
    await requested.tearDown();
    const before = async () => ({ volumeID: 'vol-1', port: '17001' });
    await requested.setUpIt({}, withService([other], { remembered: before }));
    const ports = requested.asked.map(({ url }) => new URL(url).port);
    expect(ports.slice(0, 4)).toEqual(['17001', '17001', '17001', '17001']);
    expect(new Set(ports.slice(4, 12))).toEqual(new Set(['9001']));
    expect(ports.slice(12)).toEqual(['17001', '17001']);
  });

  it('is unmounted and detached by the service', async () => {
    await using requested = await served();
    await requested.setUpIt();
    await requested.tearDown();
    expect(actionsOf(requested.asked).slice(2)).toEqual([
      { mount: 1, mount_path: requested.dir },
      { attach: 1 },
    ]);
    expect(requested.mounts).toEqual([]);
  });

  it('stays attached while another pod has it', async () => {
    await using requested = await served();
    await requested.setUpIt();
    requested.mounts.push(mountInfo('/elsewhere'));
    await requested.tearDown();
    expect(actionsOf(requested.asked).slice(2)).toEqual([{ mount: 1, mount_path: requested.dir }]);
  });

  it('succeeds when it is already detached', async () => {
    await using requested = await served(() => ({ volume_response: { error: 'Volume is detached' } }));
    await requested.tearDown();
    expect(actionsOf(requested.asked)).toEqual([{ attach: 1 }]);
  });

  it('fails while the service is unavailable', async () => {
    await using requested = await served(() => {
      throw new RestError('PUT failed: connect ECONNREFUSED', 0);
    });
    await expect(requested.tearDown()).rejects.toThrow('ECONNREFUSED');
  });
});
