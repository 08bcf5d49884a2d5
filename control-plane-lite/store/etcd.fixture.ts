/** Real etcd servers for tests, on ports and folders of their own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../../testing/free-port.ts';
import { createTempDir } from '../../testing/temp.ts';

export interface EtcdMember {
  /** `http://127.0.0.1:…` */
  readonly url: string;
  /** While it runs. */
  readonly pid: number | undefined;
  /** Kills it, as a crash would. */
  readonly kill: () => Promise<void>;
  /** Restarts it with its data. */
  readonly start: () => Promise<void>;
}

export interface EtcdCluster extends AsyncDisposable {
  readonly members: readonly EtcdMember[];
  readonly urls: readonly string[];
}

export interface EtcdOptions {
  /** 1 unless given. */
  readonly size?: number;
  readonly args?: readonly string[];
  /** `https` with `args` for its certificate; `http` unless given. */
  readonly scheme?: 'http' | 'https';
}

/** Starts a cluster and waits until it serves. Needs Debian's `etcd-server`. */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdCluster> {
  const { size = 1, args = [], scheme = 'http' } = options;
  const temp = await createTempDir('na-etcd-');
  const ports = await Promise.all(Array.from({ length: size * 2 }, freePort));
  const specs = Array.from({ length: size }, (_, i) => ({
    name: `m${i}`,
    url: `${scheme}://127.0.0.1:${ports[i * 2] ?? 0}`,
    peer: `http://127.0.0.1:${ports[i * 2 + 1] ?? 0}`,
  }));
  const cluster = specs.map(({ name, peer }) => `${name}=${peer}`).join();
  const members = specs.map(({ name, url, peer }) =>
    createMember(
      url,
      [
        ['--name', name],
        ['--data-dir', join(temp.path, name)],
        ['--listen-client-urls', url],
        ['--advertise-client-urls', url],
        ['--listen-peer-urls', peer],
        ['--initial-advertise-peer-urls', peer],
        ['--initial-cluster', cluster],
        ['--max-request-bytes', '16777216'],
        ['--heartbeat-interval', '50'],
        ['--election-timeout', '500'],
        args,
      ].flat(),
    ),
  );
  await Promise.all(members.map(({ start }) => start()));
  return {
    members,
    urls: members.map(({ url }) => url),
    async [Symbol.asyncDispose]() {
      await Promise.all(members.map(({ kill }) => kill()));
      await temp[Symbol.asyncDispose]();
    },
  };
}

function createMember(url: string, args: readonly string[]): EtcdMember {
  let child: ChildProcess | undefined;

  async function kill(): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  return {
    url,
    get pid() {
      return child?.pid;
    },
    kill,
    async start() {
      const started = spawn('etcd', args, { stdio: ['ignore', 'ignore', 'pipe'] });
      child = started;
      let log = '';
      await new Promise<void>((resolve, reject) => {
        started.once('error', reject);
        started.once('exit', () => reject(new Error(`etcd ended: ${log.slice(-2000)}`)));
        started.stderr.on('data', (chunk: Buffer) => {
          log = (log + chunk.toString()).slice(-20_000);
          if (log.includes('ready to serve client requests')) resolve();
        });
      });
    },
  };
}
