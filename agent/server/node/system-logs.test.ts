import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../../testing/temp.ts';
import type { NodeRequest, NodeResponse } from './endpoint.ts';
import { listing, systemLogsEndpoint } from './system-logs.ts';

let dir: TempDir;
let root: string;
beforeAll(async () => {
  dir = await createTempDir('na-logs-');
  root = `${dir.path}/log`;
  await mkdir(`${root}/pods`, { recursive: true });
  await writeFile(`${root}/messages`, 'a message\n');
  await writeFile(`${root}/empty`, '');
  await writeFile(`${dir.path}/secret`, 'a secret');
  await symlink('messages', `${root}/pods/link`);
  await symlink('../messages', `${root}/pods/inside`);
  await symlink(`${dir.path}/secret`, `${root}/pods/outside`);
  await symlink(dir.path, `${root}/pods/up`);
});
afterAll(() => dir[Symbol.asyncDispose]());

async function ask(...rest: readonly string[]): Promise<string> {
  const request: NodeRequest = {
    method: 'GET',
    rest,
    endsInSlash: false,
    query: new URLSearchParams(),
    isUpgrade: false,
    body: () => Promise.resolve(''),
    signal: new AbortController().signal,
  };
  return textOf(await systemLogsEndpoint(root).handle(request));
}

async function textOf(response: NodeResponse): Promise<string> {
  if (response.kind === 'text') return response.text;
  if (response.kind !== 'stream') throw new Error(`an response of kind ${response.kind}`);
  const parts: Uint8Array[] = [];
  for await (const chunk of response.chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

describe('systemLogsEndpoint', () => {
  test('shows files and directories', async () => {
    expect(await ask('messages')).toBe('a message\n');
    expect(await ask('empty')).toBe('');
    expect(await ask()).toBe(
      '<pre>\n<a href="empty">empty</a>\n<a href="messages">messages</a>\n<a href="pods/">pods/</a>\n</pre>\n',
    );
  });

  test('follows links inside', async () => {
    expect(await ask('pods', 'inside')).toBe('a message\n');
  });

  test.each([
    [['pods', 'outside']],
    [['pods', 'up']],
    [['pods', 'up', 'secret']],
    [['pods', 'link']],
    [['no-such']],
    [['messages', 'below']],
  ])('returns NotFound for %j', async (rest) => {
    await expect(ask(...rest)).rejects.toMatchObject({ code: 404 });
  });
});

describe('listing', () => {
  test('escapes names', () => {
    expect(listing([{ name: '<b>&"\'?#', isDirectory: () => false }])).toBe(
      '<pre>\n<a href="%3Cb%3E&%22\'%3F%23">&lt;b&gt;&amp;&#34;&#39;?#</a>\n</pre>\n',
    );
  });
});
