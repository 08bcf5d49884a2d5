import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { startTestServer } from '../server.fixture.ts';
import { listing, logFilesRoute, partsOf } from './log-files.ts';

async function startWithLogs() {
  const dir = await createTempDir('na-logs-');
  const root = join(dir.path, 'log');
  await mkdir(join(root, 'sub'), { recursive: true });
  await writeFile(join(root, 'a.log'), 'x'.repeat(200_000));
  await writeFile(join(root, 'empty.log'), '');
  await writeFile(join(root, 'sub', 'b.log'), 'inner');
  await writeFile(join(dir.path, 'secret'), 'secret');
  await symlink('../secret', join(root, 'link.log'));
  await symlink('..', join(root, 'up'));
  await symlink('sub', join(root, 'within'));
  const server = await startTestServer({ deps: { routes: [logFilesRoute(root)] } });
  const get = async (path: string): Promise<readonly [status: number, text: string]> => {
    const { statusCode, body } = await request(server.url + path);
    return [statusCode, await body.text()];
  };
  return {
    get,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

describe('/logs/', () => {
  test('lists directories and sends files', async () => {
    await using site = await startWithLogs();
    const [status, page] = await site.get('/logs/');
    expect(status).toBe(200);
    expect(page).toContain('<a href="a.log">a.log</a>\n');
    expect(page).toContain('<a href="sub/">sub/</a>\n');
    expect(await site.get('/logs/a.log')).toEqual([200, 'x'.repeat(200_000)]);
    expect(await site.get('/logs/empty.log')).toEqual([200, '']);
    expect(await site.get('/logs/sub/b.log')).toEqual([200, 'inner']);
  });

  test.each([
    '/logs/link.log',
    '/logs/up/secret',
    '/logs/within/b.log',
    '/logs/../secret',
    '/logs/%2e%2e/secret',
    '/logs/sub/..%2f..%2fsecret',
    '/logs/missing',
    '/logs/a.log/x',
  ])('does not send %s', async (path) => {
    await using site = await startWithLogs();
    const [status, text] = await site.get(path);
    expect([400, 404]).toContain(status);
    expect(text).not.toBe('secret');
  });
});

test('names in a listing are escaped', () => {
  const entry = { name: '<a>?#"', isDirectory: () => false };
  expect(listing([entry])).toBe('<pre>\n<a href="%3Ca%3E%3F%23%22">&lt;a&gt;?#&#34;</a>\n</pre>\n');
});

test.each([
  ['/logs/a//b/', ['a', 'b']],
  ['/logs', []],
])('the names of %s are %j', (path, expected) => {
  expect(partsOf(path)).toEqual(expected);
});

test.each(['/logs/..', '/logs/a/../b', '/logs/.', '/logs/a\0b'])(
  '%j is not a path below the directory',
  (path) => {
    expect(() => partsOf(path)).toThrow('404 page not found');
  },
);
