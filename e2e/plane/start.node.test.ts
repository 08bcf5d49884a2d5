/** Failed starts of the server. */
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

test('the error for a port in use names it, without a stack trace', async () => {
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
    `control-plane-lite: --etcd-cafile: ${file} contains no certificate in PEM form\n`,
  );
});

test('a server that waits for its store exits on SIGTERM', async () => {
  await using folder = await createTempDir('na-cpl-');
  const data = join(folder.path, 'd');
  const child = start(`--data-dir=${data}`, '--secure-port=0', '--etcd-servers=http://127.0.0.1:1');
  // Once it logs the error, it is waiting.
  await once(child.stderr ?? child, 'data');
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(child.exitCode).toBe(0);
});
