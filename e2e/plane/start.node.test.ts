/** The program's start, where it does not come to serving. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { testProgram } from '../../testing/programs.ts';
import { createTempDir } from '../../testing/temp.ts';

const PROGRAM = testProgram('control-plane-lite', 'control-plane-lite/bin.ts');

function start(...flags: readonly string[]): ChildProcess & { readonly complaint: Promise<string> } {
  const child = spawn(process.execPath, [PROGRAM, '--bind-address=127.0.0.1', ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return Object.assign(child, { complaint: text(child.stderr) });
}

test('a port that is taken is named, without a trace of the program', async () => {
  await using folder = await createTempDir('na-cpl-');
  await using other = createServer();
  await once(other.listen(0, '127.0.0.1'), 'listening');
  const address = other.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const child = start(`--data-dir=${join(folder.path, 'd')}`, `--secure-port=${port}`);
  await once(child, 'exit');
  expect(child.exitCode).toBe(1);
  expect(await child.complaint).toBe(
    `control-plane-lite: --secure-port: another program listens on 127.0.0.1:${port}\n`,
  );
});

test('files for etcd that cannot be used are named with their option', async () => {
  await using folder = await createTempDir('na-cpl-');
  const file = join(folder.path, 'ca.crt');
  await writeFile(file, 'no certificate');
  const child = start(
    `--data-dir=${join(folder.path, 'd')}`,
    '--etcd-servers=https://127.0.0.1:1',
    `--etcd-cafile=${file}`,
  );
  await once(child, 'exit');
  expect(child.exitCode).toBe(1);
  expect(await child.complaint).toBe(
    `control-plane-lite: --etcd-cafile: ${file} holds no certificate in PEM form\n`,
  );
});

test('a server that waits for its store ends when it is told to', async () => {
  await using folder = await createTempDir('na-cpl-');
  const data = join(folder.path, 'd');
  const child = start(`--data-dir=${data}`, '--secure-port=0', '--etcd-servers=http://127.0.0.1:1');
  // Once it complains, it is waiting.
  await once(child.stderr ?? child, 'data');
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(child.exitCode).toBe(0);
});
