/** A Gluster server for one test, with one volume of one brick. It needs an address that is not loopback. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';

export interface GlusterServer extends AsyncDisposable {
  readonly address: string;
  readonly volume: string;
  /** Directory with the files of the volume. */
  readonly brick: string;
}

const LOGS = '/var/log/glusterfs';
const MAX_TRIES = 200;

function ownAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal);
  if (found === undefined) throw new Error('this machine has no address but loopback');
  return found.address;
}

const configOf = (base: string): string => `volume management
    type mgmt/glusterd
    option working-directory ${base}/work
    option run-directory ${base}/run
    option glusterd-sockfile ${base}/sock
    option transport-type socket
    option transport.socket.listen-port 24007
    option event-threads 1
end-volume
`;

/** Starts the server and the volume. */
export async function startGluster(): Promise<GlusterServer> {
  const base = await realpath(await mkdtemp('/tmp/na-gl-'));
  const volume = base.slice('/tmp/'.length);
  const brick = join(base, 'brick');
  const address = ownAddress();
  for (const name of ['work', 'run', 'brick']) await mkdir(join(base, name));
  await writeFile(join(base, 'glusterd.vol'), configOf(base));
  const log = join(base, 'glusterd.log');
  const server = spawn(
    'glusterd',
    ['-N', '-f', join(base, 'glusterd.vol'), '-l', log, '-p', join(base, 'pid')],
    {
      stdio: 'ignore',
    },
  );
  const ended = once(server, 'exit');
  const command = (...args: readonly string[]): number | null =>
    spawnSync(
      'gluster',
      ['--mode=script', `--glusterd-sock=${base}/sock`, `--log-file=${base}/cli.log`, ...args],
      {
        timeout: 30_000,
        stdio: 'ignore',
      },
    ).status;

  async function stop(): Promise<void> {
    command('volume', 'stop', volume, 'force');
    server.kill('SIGTERM');
    await ended;
    await rm(base, { recursive: true, force: true });
    // Bricks and clients use the default log directories.
    for (const folder of [LOGS, join(LOGS, 'bricks')]) {
      const names = await readdir(folder).catch(() => []);
      for (const name of names) if (name.includes(volume)) await rm(join(folder, name), { force: true });
    }
  }

  // The command itself waits while the server is not ready.
  let tries = 0;
  while (command('volume', 'list') !== 0) {
    tries += 1;
    if (server.exitCode !== null || tries > MAX_TRIES) {
      await stop();
      throw new Error('glusterd did not start');
    }
  }
  const created = command('volume', 'create', volume, `${address}:${brick}`, 'force');
  const started = created === 0 ? command('volume', 'start', volume) : created;
  if (started !== 0) {
    await stop();
    throw new Error('the volume could not be started');
  }
  return { address, volume, brick, [Symbol.asyncDispose]: stop };
}
