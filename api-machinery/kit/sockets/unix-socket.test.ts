import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../../testing/temp.ts';
import { listenOnSocket } from './unix-socket.ts';

let dir: TempDir;
let path: string;
let servers: Server[];
beforeEach(async () => {
  dir = await createTempDir('na-socket-');
  path = join(dir.path, 's.sock');
  servers = [];
});
afterEach(async () => {
  for (const server of servers) server.close();
  await dir[Symbol.asyncDispose]();
});

function serverOf(word: string): Server {
  const server = createServer((socket) => void socket.on('error', () => undefined).end(word));
  servers.push(server);
  return server;
}

/** Returns the data received on the socket, or the error code. */
async function hear(at = path): Promise<string> {
  const socket = createConnection({ path: at });
  try {
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return chunk.toString();
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : String(thrown);
  } finally {
    socket.destroy();
  }
}

async function close(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}

describe('listenOnSocket', () => {
  test('creates the socket and its directory for one user only, and nothing else', async () => {
    path = join(dir.path, 'deep', 's.sock');
    await listenOnSocket(serverOf('first'), path);
    expect(await hear()).toBe('first');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(dir.path, 'deep'))).toEqual(['s.sock']);
  });

  test('never replaces a served socket', async () => {
    await listenOnSocket(serverOf('first'), path);
    await expect(listenOnSocket(serverOf('second'), path)).rejects.toThrow(
      's.sock is served by another process; stop it, or choose another path',
    );
    expect(await hear()).toBe('first');
  });

  test('of many concurrent starts, one serves', async () => {
    const all = Array.from({ length: 8 }, (_, index) => listenOnSocket(serverOf(`${index}`), path));
    const outcomes = await Promise.allSettled(all);
    const winners = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [index] : []));
    expect(winners).toHaveLength(1);
    expect(await hear()).toBe(`${winners[0]}`);
  });

  test('replaces the socket of a dead process', async () => {
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await hear()).toBe('ECONNREFUSED');
    await listenOnSocket(serverOf('next'), path);
    expect(await hear()).toBe('next');
  });

  test.each([
    ['a file', (at: string) => writeFile(at, 'precious')],
    ['a folder', (at: string) => mkdir(at).then(() => undefined)],
  ])('does not replace %s', async (_, make) => {
    await make(path);
    await expect(listenOnSocket(serverOf('first'), path)).rejects.toThrow('is not a socket; remove it');
    expect((await stat(path)).isSocket()).toBe(false);
  });

  test('removes its own socket on close', async () => {
    const server = serverOf('first');
    const claim = await listenOnSocket(server, path);
    await close(server);
    await claim.release();
    expect(await readdir(dir.path)).toEqual([]);
  });

  test('does not remove another process’s socket on close', async () => {
    const server = serverOf('first');
    const claim = await listenOnSocket(server, path);
    await rm(path);
    await listenOnSocket(serverOf('second'), path);
    await close(server);
    await claim.release();
    expect(await hear()).toBe('second');
  });

  test('serves paths up to the system’s limit', async () => {
    const name = 's'.repeat(106 - dir.path.length);
    path = join(dir.path, name);
    await listenOnSocket(serverOf('long'), path);
    const short = join(dir.path, 'k');
    await link(path, short);
    expect(await hear(short)).toBe('long');
  });
});
