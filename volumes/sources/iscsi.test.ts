import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { assert, integer, ipV6, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ISCSIPersistentVolumeSource } from '#api/gen/core-v1.ts';
import type { DevicePlugin } from '../contract/devices.ts';
import { createTestDevices, never, secretOf, type TestDevices } from '../devices/devices.fixture.ts';
import { readKernelFolder } from '../devices/kernel-files.ts';
import { createTestInitiator } from '../iscsi/initiator.fixture.ts';
import type { TestPortal } from '../iscsi/kernel.fixture.ts';
import { editRecord, parseRecord } from '../iscsi/records.ts';
import { formatPortal, parsePortal } from '../iscsi/target.ts';
import { createIscsi } from './iscsi.ts';

const IQN = 'iqn.2001-04.com.example:disk';
const AT = '10.0.0.1:3260';
const spec: ISCSIPersistentVolumeSource = { targetPortal: AT, iqn: IQN, lun: 1 };
const open: TestPortal = { iqn: IQN, units: [1, 2] };
const CHAP = { iqn: IQN, units: [1], login: 'me:session secret', discovery: 'you:discovery#secret' };
const SECRET = {
  'node.session.auth.username': 'me',
  'node.session.auth.password': 'session secret',
  'discovery.sendtargets.auth.username': 'you',
  'discovery.sendtargets.auth.password': 'discovery#secret',
};

interface World extends AsyncDisposable {
  readonly devices: TestDevices;
  readonly plugin: DevicePlugin<'iscsi'>;
  readonly portals: Map<string, TestPortal>;
  attach(spec: ISCSIPersistentVolumeSource): Promise<string>;
  detach(): Promise<void>;
  sessions(): Promise<readonly string[]>;
}

async function createWorld(portals: Readonly<Record<string, TestPortal>>): Promise<World> {
  const map = new Map(Object.entries(portals));
  const late: { programs: ReturnType<typeof createTestInitiator> } = { programs: {} };
  const names = ['iscsiadm', 'tee', 'blockdev'];
  const devices = await createTestDevices(
    Object.fromEntries(
      names.map((name) => [name, async (args, options) => late.programs[name]?.(args, options)]),
    ),
  );
  late.programs = createTestInitiator(devices.base, map);
  const plugin = createIscsi({ databases: [devices.path('db')] });
  return {
    devices,
    plugin,
    portals: map,
    attach: (wanted) => plugin.attach(wanted, devices.services, devices.save, never),
    detach: async () => plugin.detach?.(devices.saved.at(-1) ?? {}, devices.services, never),
    sessions: () => readKernelFolder(devices.path('sys/class/iscsi_session')),
    [Symbol.asyncDispose]: () => devices[Symbol.asyncDispose](),
  };
}

describe('identify', () => {
  const plugin = createIscsi({ databases: [] });

  test('names the volume by portal, target and LUN', () => {
    expect(plugin.identify(spec, 'd.example')).toEqual({
      uniqueName: `d.example/iscsi/${AT}:${IQN}:1`,
      fsType: 'ext4',
      readOnly: false,
    });
    expect(plugin.identify({ ...spec, readOnly: true, fsType: 'xfs' }, 'd.example')).toMatchObject({
      fsType: 'xfs',
      readOnly: true,
    });
  });

  test.each<[Partial<ISCSIPersistentVolumeSource>, string]>([
    [{ targetPortal: '-p' }, 'iscsi.targetPortal "-p": must be an address'],
    [{ targetPortal: '' }, 'iscsi.targetPortal "": must be an address'],
    [{ targetPortal: 'fd00::1' }, 'such as 10.0.0.1:3260 or [fd00::1]:3260'],
    [{ targetPortal: '10.0.0.1:0' }, 'iscsi.targetPortal'],
    [{ portals: ['a/b'] }, 'iscsi.portals[0] "a/b"'],
    [{ iqn: '../../etc' }, 'iscsi.iqn "../../etc": must be an iSCSI name'],
    [{ iqn: `${IQN}\nnode.startup = automatic` }, 'iscsi.iqn'],
    [{ lun: 256 }, 'iscsi.lun 256: must be a number from 0 to 255'],
    [{ iscsiInterface: '../x' }, 'iscsi.iscsiInterface "../x"'],
    [{ initiatorName: 'me' }, 'iscsi.initiatorName "me"'],
    [{ fsType: '-t' }, 'iscsi.fsType "-t"'],
  ])('rejects %j', (fields, message) => {
    expect(() => plugin.identify({ ...spec, ...fields }, 'd.example')).toThrow(message);
  });

  test('a portal is the same in all of its spellings', () => {
    assert(
      property(ipV6(), integer({ min: 1, max: 65_535 }), (address, port) => {
        const portal = parsePortal('p', `[${address}]:${port}`);
        expect(parsePortal('p', formatPortal(portal))).toEqual(portal);
      }),
    );
    expect(formatPortal(parsePortal('p', '[FD00:0:0:0:0:0:0:1]'))).toBe('[fd00::1]:3260');
  });
});

describe('attach', () => {
  test('discovers, logs in, scans for the one LUN, and logs out again', async () => {
    await using world = await createWorld({ [AT]: open });
    expect(await world.attach(spec)).toBe(world.devices.path('dev/sda1'));
    expect(world.devices.saved).toEqual([
      { iqn: IQN, iface: 'default', lun: '1', portals: AT, own: 'false' },
    ]);
    expect(world.devices.ran).toEqual([
      `iscsiadm -m discoverydb -t sendtargets -p ${AT} -I default -o new`,
      `iscsiadm -m discoverydb -t sendtargets -p ${AT} -I default -o nonpersistent --discover`,
      `iscsiadm -m discoverydb -t sendtargets -p ${AT} -I default -o delete`,
      `iscsiadm -m node -T ${IQN} -p ${AT},1 -I default -o new`,
      `iscsiadm -m node -T ${IQN} -p ${AT} -I default --login`,
      `tee ${world.devices.path('sys/class/scsi_host/host1/scan')}`,
    ]);
    const record = await readFile(world.devices.path(`db/nodes/${IQN}/10.0.0.1,3260,1/default`), 'utf8');
    expect(parseRecord(record).get('node.startup')).toBe('manual');
    expect(parseRecord(record).get('node.session.scan')).toBe('manual');
    await world.detach();
    expect(await world.sessions()).toEqual([]);
    expect(await readKernelFolder(world.devices.path(`db/nodes/${IQN}/10.0.0.1,3260,1`))).toEqual([]);
    expect(world.devices.ran.slice(6)).toEqual([
      `blockdev --flushbufs ${world.devices.path('dev/sda1')}`,
      `tee ${world.devices.path('sys/block/sda1/device/delete')}`,
      `iscsiadm -m node -T ${IQN} -p ${AT} -I default --logout`,
      `iscsiadm -m node -T ${IQN} -p ${AT} -I default -o delete`,
    ]);
    await world.detach();
  });

  test('a session is shared, and stays until its last volume is gone', async () => {
    await using world = await createWorld({ [AT]: open });
    await world.attach(spec);
    const first = world.devices.saved.at(-1) ?? {};
    expect(await world.attach({ ...spec, lun: 2 })).toBe(world.devices.path('dev/sda2'));
    expect(world.devices.ran.filter((line) => line.includes('--login'))).toHaveLength(1);
    await world.plugin.detach?.(first, world.devices.services, never);
    expect(await world.sessions()).toEqual(['session1']);
    await world.detach();
    expect(await world.sessions()).toEqual([]);
  });

  test('a disk used by other devices stays', async () => {
    await using world = await createWorld({ [AT]: open });
    await world.attach(spec);
    await world.devices.write('sys/block/sda1/holders/dm-0', '');
    await expect(world.detach()).rejects.toThrow('disk sda1 cannot be removed: dm-0 is built on it');
    expect(await world.sessions()).toEqual(['session1']);
  });

  test('reports what the target does not have', async () => {
    await using world = await createWorld({ [AT]: open });
    await expect(world.attach({ ...spec, lun: 7 })).rejects.toThrow(`${IQN} at ${AT} has no disk as LUN 7`);
    await expect(world.attach({ ...spec, iqn: 'iqn.2001-04.com.example:none' })).rejects.toThrow(
      `the iSCSI portal ${AT} has no target iqn.2001-04.com.example:none, or none for this initiator (see initiatorName)`,
    );
    await world.devices.write(
      'db/initiatorname.iscsi',
      '# mine\nInitiatorName=iqn.2001-04.com.example:node\n',
    );
    const other = { ...spec, iqn: 'iqn.2001-04.com.example:none' };
    await expect(world.attach(other)).rejects.toThrow(
      'or none for the initiator iqn.2001-04.com.example:node (see',
    );
    const named = { ...other, initiatorName: 'iqn.2001-04.com.example:me' };
    await expect(world.attach(named)).rejects.toThrow(
      'or none for the initiator iqn.2001-04.com.example:me (see',
    );
    await expect(world.attach({ ...spec, targetPortal: '10.0.0.9' })).rejects.toThrow(
      'discovery at the iSCSI portal 10.0.0.9:3260 failed: iscsiadm exited with code 4',
    );
  });
});

describe('CHAP', () => {
  const chap = { ...spec, chapAuthDiscovery: true, chapAuthSession: true, secretRef: { name: 'chap' } };

  test('writes credentials of the secret into records readable only by root, never into arguments', async () => {
    await using world = await createWorld({ [AT]: CHAP });
    world.devices.secrets.set('default/chap', secretOf(SECRET));
    await world.attach(chap);
    const record = world.devices.path(`db/nodes/${IQN}/10.0.0.1,3260,1/default`);
    expect((await stat(record)).mode & 0o777).toBe(0o600);
    expect(parseRecord(await readFile(record, 'utf8')).get('node.session.auth.authmethod')).toBe('CHAP');
    expect(await readKernelFolder(world.devices.path('db/send_targets'))).toEqual([]);
    expect(await readKernelFolder(world.devices.path('db'))).toEqual(['nodes', 'send_targets']);
    const recorded = JSON.stringify([world.devices.ran, world.devices.saved]);
    expect(recorded).not.toContain('secret');
    await world.detach();
    await world.attach({ ...chap, secretRef: { name: 'chap', namespace: 'default' } });
  });

  test('retains an existing discovery record', async () => {
    await using world = await createWorld({ [AT]: CHAP });
    const path = 'db/send_targets/10.0.0.1,3260/st_config';
    await world.devices.write(path, 'discovery.startup = manual\n# END RECORD\n');
    await chmod(world.devices.path(path), 0o644);
    world.devices.secrets.set('default/chap', secretOf(SECRET));
    await world.attach(chap);
    expect(await readFile(world.devices.path(path), 'utf8')).toContain('discovery.startup = manual');
    expect((await stat(world.devices.path(path))).mode & 0o777).toBe(0o600);
  });

  test('a rejection by the target is reported as such, and its record is removed', async () => {
    await using world = await createWorld({ [AT]: CHAP });
    world.devices.secrets.set('default/chap', secretOf({ ...SECRET, 'node.session.auth.password': 'wrong' }));
    await expect(world.attach(chap)).rejects.toThrow('the target rejected the initiator: check CHAP');
    expect(await readKernelFolder(world.devices.path(`db/nodes/${IQN}/10.0.0.1,3260,1`))).toEqual([]);
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['no name', { ...SECRET, 'node.session.auth.username': '' }, 'has no node.session.auth.username'],
    [
      'no password',
      { 'discovery.sendtargets.auth.username': 'u' },
      'has no discovery.sendtargets.auth.password',
    ],
    [
      'a password of two lines',
      { ...SECRET, 'node.session.auth.password': 'a\nnode.startup = automatic' },
      "the secret's node.session.auth.password must be",
    ],
  ])('rejects %s', async (_name, texts, message) => {
    await using world = await createWorld({ [AT]: CHAP });
    world.devices.secrets.set('default/chap', secretOf(texts));
    await expect(world.attach(chap)).rejects.toThrow(message);
    expect(world.devices.ran).toEqual([]);
  });

  test('needs a secret', async () => {
    await using world = await createWorld({ [AT]: CHAP });
    await expect(world.attach({ ...spec, chapAuthSession: true })).rejects.toThrow(
      'iscsi.secretRef: Required value: CHAP needs it because iscsi.chapAuthSession is true',
    );
  });
});

describe('portals', () => {
  const several = { ...spec, portals: [AT, '10.0.0.2', '10.0.0.3'] };

  test('one reachable portal is enough; failed ones are tried once more', async () => {
    await using world = await createWorld({ '10.0.0.2:3260': open });
    expect(await world.attach(several)).toBe(world.devices.path('dev/sda1'));
    const tried = world.devices.ran.filter((line) => line.includes('--discover'));
    expect(tried.filter((line) => line.includes(AT))).toHaveLength(2);
    await world.detach();
    expect(await world.sessions()).toEqual([]);
  });

  test('the multipath device is used, and removed before its paths', async () => {
    await using world = await createWorld({ [AT]: open, '10.0.0.2:3260': open, '10.0.0.3:3260': open });
    await world.attach(several);
    for (const disk of ['sda1', 'sdb1', 'sdc1']) {
      await world.devices.write(`sys/block/${disk}/holders/dm-3`, '');
      await world.devices.write(`sys/block/dm-3/slaves/${disk}`, '');
    }
    await world.devices.write('sys/block/dm-3/dm/uuid', 'mpath-360014051234\n');
    await world.devices.write('sys/block/dm-3/dm/name', 'mpatha\n');
    expect(await world.attach(several)).toBe(world.devices.path('dev/dm-3'));
    await expect(world.detach()).rejects.toThrow('the program multipath is not installed');
    expect(await world.sessions()).toHaveLength(3);
  });

  test('all failures are reported', async () => {
    await using world = await createWorld({});
    await expect(world.attach(several)).rejects.toThrow(
      /no portal leads.*10\.0\.0\.1.*10\.0\.0\.2.*10\.0\.0\.3/,
    );
  });
});

describe('initiatorName', () => {
  const own = { ...spec, initiatorName: 'iqn.2001-04.com.example:me' };

  test('creates an interface like the specified one, for as long as there are sessions', async () => {
    await using world = await createWorld({ [AT]: { ...open, initiator: own.initiatorName } });
    await expect(world.attach(spec)).rejects.toThrow('the target rejected the initiator');
    await world.attach(own);
    const [iface = ''] = await readKernelFolder(world.devices.path('db/ifaces'));
    expect(iface).toMatch(/^nodeagent-[0-9a-f]{32}$/);
    const record = parseRecord(await readFile(world.devices.path(`db/ifaces/${iface}`), 'utf8'));
    expect(Object.fromEntries(record)).toEqual({
      'iface.iscsi_ifacename': iface,
      'iface.mtu': '9000',
      'iface.initiatorname': own.initiatorName,
    });
    await world.attach({ ...own, lun: 2 });
    const shown = world.devices.ran.filter((line) => line.includes('-m iface'));
    expect(shown).toEqual(['iscsiadm -m iface -I default -o show', `iscsiadm -m iface -I ${iface} -o new`]);
    await world.detach();
    expect(await readKernelFolder(world.devices.path('db/ifaces'))).toEqual([iface]);
    await world.plugin.detach?.(world.devices.saved[1] ?? {}, world.devices.services, never);
    expect(await readKernelFolder(world.devices.path('db/ifaces'))).toEqual([]);
  });
});

test('a disk used through several interfaces and portals is logged out of all of them', async () => {
  const second = '10.0.0.2:3260';
  await using world = await createWorld({ [AT]: open, [second]: open });
  const { devices, plugin } = world;
  const attach = (wanted: ISCSIPersistentVolumeSource): Promise<string> =>
    plugin.attach(wanted, { ...devices.services, saved: devices.saved.at(-1) }, devices.save, never);
  await attach(spec);
  await attach({ ...spec, initiatorName: 'iqn.2001-04.com.example:me' });
  await attach({ ...spec, portals: [second] });
  await attach(spec);
  expect(await world.sessions()).toHaveLength(3);
  const state = devices.saved.at(-1) ?? {};
  expect([state['portals'], state['1.portals'], state['1.own'], state['2.iqn']]).toEqual([
    `${AT} ${second}`,
    AT,
    'true',
    undefined,
  ]);
  await world.detach();
  expect(await world.sessions()).toEqual([]);
  expect(await readKernelFolder(devices.path('db/ifaces'))).toEqual([]);
});

describe('editRecord', () => {
  test('replaces existing settings, adds required ones, and sets others only if present', () => {
    const record = '# BEGIN RECORD 2.1.8\na.b = 1\nc = 2\n# END RECORD\n';
    const needed = new Map([
      ['c', '3 = 4'],
      ['d', '#5'],
    ]);
    const others = new Map([
      ['a.b', '6'],
      ['unknown', '7'],
    ]);
    expect(editRecord(record, needed, others)).toBe(
      '# BEGIN RECORD 2.1.8\nc = 3 = 4\nd = #5\na.b = 6\n# END RECORD\n',
    );
  });
});

test('a record in an unexpected place is reported', async () => {
  await using world = await createWorld({ [AT]: open });
  const lost = createIscsi({ databases: [world.devices.path('other')] });
  await writeFile(world.devices.path('other'), '');
  await expect(lost.attach(spec, world.devices.services, world.devices.save, never)).rejects.toThrow(
    'none of /etc/iscsi, /var/lib/iscsi contains it',
  );
});
