/** Kernel files of iSCSI sessions for tests. */
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readKernelFolder } from '../devices/kernel-files.ts';
import { parsePortal } from './target.ts';

export interface TestPortal {
  readonly iqn: string;
  readonly units: readonly number[];
  /** For sessions: `name:password`. */
  readonly login?: string;
  /** For discovery. */
  readonly discovery?: string;
  /** The only initiator that it accepts. */
  readonly initiator?: string;
}

/** Returns the value after a flag. */
export const argOf = (args: readonly string[], name: string): string => args[args.indexOf(name) + 1] ?? '';

/** Writes files beneath a directory. */
export const createWriter =
  (base: string): ((path: string, text: string) => Promise<void>) =>
  async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(base, path)), { recursive: true });
    await writeFile(join(base, path), text);
  };

export interface TestKernel {
  /** Adds a session with the arguments of `iscsiadm`. */
  addSession(args: readonly string[], there: TestPortal): Promise<void>;
  sessionWith(args: readonly string[]): Promise<string | undefined>;
  /** Handles a write to a host's `scan`. */
  scan(host: string, text: string): Promise<void>;
}

/** @param base directory with `dev` and `sys` */
export function createTestKernel(base: string, portals: ReadonlyMap<string, TestPortal>): TestKernel {
  const write = createWriter(base);
  let sessions = 0;

  async function addSession(args: readonly string[], there: TestPortal): Promise<void> {
    sessions += 1;
    const count = sessions;
    const { address, port } = parsePortal('portal', argOf(args, '-p'));
    const device = `sys/devices/platform/host${count}/session${count}`;
    await mkdir(join(base, device, `target${count}:0:0`), { recursive: true });
    await write(`${device}/target${count}:0:0/${count}:0:0:0/type`, '12\n');
    const about = `sys/class/iscsi_session/session${count}`;
    await write(`${about}/targetname`, `${there.iqn}\n`);
    await write(`${about}/ifacename`, `${argOf(args, '-I')}\n`);
    await symlink(join(base, device), join(base, about, 'device'));
    const connection = `sys/class/iscsi_connection/connection${count}:0`;
    await write(`${connection}/persistent_address`, `${address}\n`);
    await write(`${connection}/persistent_port`, `${port}\n`);
    await write(`sys/class/scsi_host/host${count}/portal`, argOf(args, '-p'));
  }

  async function sessionWith(args: readonly string[]): Promise<string | undefined> {
    const { address, port } = parsePortal('portal', argOf(args, '-p'));
    for (const name of await readKernelFolder(join(base, 'sys/class/iscsi_session'))) {
      const text = (path: string): Promise<string> => readFile(join(base, 'sys/class', path), 'utf8');
      const connection = `iscsi_connection/${name.replace('session', 'connection')}:0`;
      const facts = await Promise.all([
        text(`iscsi_session/${name}/targetname`),
        text(`iscsi_session/${name}/ifacename`),
        text(`${connection}/persistent_address`),
        text(`${connection}/persistent_port`),
      ]);
      const wanted = [argOf(args, '-T'), argOf(args, '-I'), address, port];
      if (facts.join('') === wanted.map((fact) => `${fact}\n`).join('')) return name;
    }
    return undefined;
  }

  async function scan(host: string, text: string): Promise<void> {
    const at = await readFile(join(base, `sys/class/scsi_host/host${host}/portal`), 'utf8');
    const lun = Number(text.split(' ')[2]);
    if (portals.get(at)?.units.includes(lun) !== true) return;
    const disk = `sd${String.fromCodePoint(96 + Number(host))}${lun}`;
    const dir = `sys/devices/platform/host${host}/session${host}/target${host}:0:0/${host}:0:0:${lun}`;
    await write(`${dir}/type`, '0\n');
    await write(`${dir}/delete`, '');
    await mkdir(join(base, dir, 'block', disk, 'holders'), { recursive: true });
    await mkdir(join(base, 'sys/block'), { recursive: true });
    await rm(join(base, 'sys/block', disk), { force: true });
    await symlink(join(base, dir, 'block', disk), join(base, 'sys/block', disk));
    await rm(join(base, dir, 'block', disk, 'device'), { force: true });
    await symlink(join(base, dir), join(base, dir, 'block', disk, 'device'));
    await write(`dev/${disk}`, '');
  }

  return { addSession, sessionWith, scan };
}
