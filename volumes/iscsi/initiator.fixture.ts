/** A test initiator, as seen through its program and the kernel's files: portals with targets, their LUNs
 *  and required credentials. */
import { readFile, realpath, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FakePrograms } from '../devices/devices.fixture.ts';
import { readKernelFolder } from '../devices/kernel-files.ts';
import type { ProgramResult } from '../programs/contract.ts';
import { argOf, createTestKernel, createWriter, type TestPortal } from './kernel.fixture.ts';
import { parseRecord, type Settings } from './records.ts';
import { type Portal, parsePortal } from './target.ts';

type Result = Partial<ProgramResult> | undefined;

const refused: Result = { code: 24, stderr: 'iscsiadm: login failed due to authorization failure' };

const credentials = (settings: Settings, stem: string): string =>
  `${settings.get(`${stem}.username`)}:${settings.get(`${stem}.password`)}`;

const folderOf = (args: readonly string[]): string => {
  const [at = '', group] = argOf(args, '-p').split(',');
  const { address, port }: Portal = parsePortal('portal', at);
  return group === undefined ? `${address},${port}` : `${address},${port},${group}`;
};

async function startOf(records: string, iqn: string, start: string): Promise<string> {
  const folders = await readKernelFolder(join(records, 'nodes', iqn));
  return folders.find((name) => name === start || name.startsWith(`${start},`)) ?? start;
}

const settingsAt = async (records: string, ...names: string[]): Promise<Settings> =>
  parseRecord(await readFile(join(records, ...names), 'utf8'));

async function discovery(
  base: string,
  portals: ReadonlyMap<string, TestPortal>,
  args: readonly string[],
): Promise<Result> {
  const write = createWriter(base);
  const records = join(base, 'db');
  const folder = folderOf(args);
  const file = join('send_targets', folder, 'st_config');
  if (args.includes('new')) {
    const text = '# BEGIN\ndiscovery.sendtargets.auth.authmethod = None\n# END RECORD\n';
    await write(join('db', file), text);
    return undefined;
  }
  if (args.includes('delete')) {
    await rm(join(records, dirname(file)), { recursive: true });
    return undefined;
  }
  const there = portals.get(argOf(args, '-p'));
  if (there === undefined) return { code: 4, stderr: 'iscsiadm: cannot make connection' };
  const settings = await settingsAt(records, file);
  const given = credentials(settings, 'discovery.sendtargets.auth');
  if (there.discovery !== undefined && there.discovery !== given) return refused;
  return {
    stdout: `${argOf(args, '-p')},1 ${there.iqn}\n${argOf(args, '-p')},1 iqn.2001-04.com.other:x\n`,
  };
}

/** @param base directory with `dev`, `sys` and `db`, the initiator's records
 *  @param portals portals by address and port; may change during the test */
export function createTestInitiator(base: string, portals: Map<string, TestPortal>): FakePrograms {
  const records = join(base, 'db');
  const kernel = createTestKernel(base, portals);
  const write = createWriter(base);

  async function node(args: readonly string[]): Promise<Result> {
    const iqn = argOf(args, '-T');
    const iface = argOf(args, '-I');
    if (args.includes('new')) {
      const text =
        'node.startup = automatic\nnode.session.scan = auto\nnode.session.auth.authmethod = None\n';
      await write(join('db/nodes', iqn, folderOf(args), iface), `${text}# END RECORD\n`);
      return undefined;
    }
    const folder = await startOf(records, iqn, folderOf(args));
    if (args.includes('delete')) {
      await rm(join(records, 'nodes', iqn, folder, iface));
      return undefined;
    }
    const session = await kernel.sessionWith(args);
    if (args.includes('--logout')) {
      if (session === undefined) return { code: 21, stderr: 'iscsiadm: No matching sessions found' };
      await rm(join(base, 'sys/class/iscsi_session', session), { recursive: true });
      return undefined;
    }
    const settings = await settingsAt(records, 'nodes', iqn, folder, iface);
    const there = portals.get(argOf(args, '-p'));
    if (there === undefined) return { code: 8, stderr: 'iscsiadm: timed out' };
    const given = credentials(settings, 'node.session.auth');
    if (there.login !== undefined && there.login !== given) return refused;
    const as =
      iface === 'default'
        ? undefined
        : (await settingsAt(records, 'ifaces', iface)).get('iface.initiatorname');
    if (there.initiator !== undefined && there.initiator !== as) return refused;
    await kernel.addSession(args, there);
    return undefined;
  }

  async function interfaces(args: readonly string[]): Promise<Result> {
    const name = argOf(args, '-I');
    if (args.includes('show')) {
      return { stdout: `iface.iscsi_ifacename = ${name}\niface.mtu = 9000\niface.hwaddress = <empty>\n` };
    }
    if (args.includes('delete')) {
      await rm(join(records, 'ifaces', name));
      return undefined;
    }
    await write(join('db/ifaces', name), `iface.iscsi_ifacename = ${name}\n# END RECORD\n`);
    return undefined;
  }

  return {
    async iscsiadm(args) {
      const mode = argOf(args, '-m');
      if (mode === 'discoverydb') return discovery(base, portals, args);
      return mode === 'node' ? node(args) : interfaces(args);
    },
    async blockdev() {
      return undefined;
    },
    async tee([path = ''], { input = '' }) {
      const host = /\/host(\d+)\/scan$/.exec(path)?.[1];
      if (host !== undefined) {
        await kernel.scan(host, input);
        return undefined;
      }
      const dir = dirname(path);
      await rm(await realpath(dir), { recursive: true });
      return undefined;
    },
  };
}
