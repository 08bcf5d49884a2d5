import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { array, assert, asyncProperty, integer, string, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { parsePlace, splitPath } from './copy-paths.ts';
import { extractTar, targetSteps } from './extract.ts';
import { packTar } from './pack.ts';
import { formatHeader, padded, parsePax, TarError } from './tar-header.ts';
import { readTar } from './tar-reader.ts';
import { type ExecSettings, invalidVariable, wrapCommand } from './wrap-command.ts';

async function* chunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const archive = (
  ...entries: readonly (readonly [path: string, type: '0' | '2' | '5', content?: string])[]
): Buffer =>
  Buffer.concat([
    ...entries.flatMap(([path, type, content = '']) => {
      const data = Buffer.from(type === '0' ? content : '');
      const header = { path, type, mode: 0o4755, mtimeSeconds: 0, sizeBytes: data.length };
      return [formatHeader(type === '2' ? { ...header, target: content } : header), padded(data)];
    }),
    Buffer.alloc(1024),
  ]);

describe('archives', () => {
  test('entries of any name and content survive, in chunks of any size', async () => {
    const name = string({ minLength: 1, maxLength: 150 }).map((text) => text.replaceAll(/[\0/]/g, '_'));
    await assert(
      asyncProperty(
        array(name, { maxLength: 4 }),
        uint8Array({ maxLength: 1500 }),
        integer({ min: 1, max: 700 }),
        async (names, data, size) => {
          const bytes = Buffer.concat([
            ...names.flatMap((path) => [
              formatHeader({ path, type: '0', mode: 0o640, mtimeSeconds: 1, sizeBytes: data.length }),
              padded(data),
            ]),
            Buffer.alloc(1024),
          ]);
          const seen: [string, number, string][] = [];
          for await (const { path, mode, content } of readTar(chunks(bytes, size))) {
            seen.push([path, mode, Buffer.concat(await Array.fromAsync(content)).toString('hex')]);
          }
          const hex = Buffer.from(data).toString('hex');
          // A lone surrogate has no UTF-8 form.
          expect(seen).toEqual(names.map((path) => [Buffer.from(path).toString(), 0o640, hex]));
        },
      ),
    );
  });

  test('unread content is skipped', async () => {
    const bytes = archive(['a', '0', 'x'.repeat(2000)], ['b', '0', 'y']);
    expect((await Array.fromAsync(readTar(chunks(bytes, 100)))).map(({ path }) => path)).toEqual(['a', 'b']);
  });

  test.each([
    ['damaged', () => archive(['a', '0', 'x']).fill(0x41, 0, 5)],
    ['short', () => archive(['a', '0', 'x'.repeat(5000)]).subarray(0, 1000)],
    ['half a header', () => archive(['a', '0', 'x']).subarray(0, 100)],
  ])('an archive that is %s is an error', async (_, make) => {
    await expect(Array.fromAsync(readTar(chunks(make(), 64)))).rejects.toThrow(TarError);
  });

  test.each(['5 a', 'x', '99 path=a\n', '0 \n', '12 size=abc\n', '11 size=-1\n'])(
    '%j are no extended headers',
    (text) => {
      expect(() => parsePax(Buffer.from(text))).toThrow(TarError);
    },
  );

  test('the program tar reads what is packed, and its archives are read', async () => {
    await using dir = await createTempDir();
    const long = `${'d'.repeat(90)}/${'f'.repeat(95)}`;
    mkdirSync(join(dir.path, 'from', long, '..'), { recursive: true });
    writeFileSync(join(dir.path, 'from', long), 'long');
    writeFileSync(join(dir.path, 'from/empty'), '');
    symlinkSync('empty', join(dir.path, 'from/link'));
    const packed = Buffer.concat(await Array.fromAsync(packTar(join(dir.path, 'from'), 'copy')));
    mkdirSync(join(dir.path, 'to'));
    execFileSync('tar', ['-xf', '-', '-C', join(dir.path, 'to')], { input: packed });
    expect(readFileSync(join(dir.path, 'to/copy', long), 'utf8')).toBe('long');
    expect(lstatSync(join(dir.path, 'to/copy/link')).isSymbolicLink()).toBe(true);
    for (const format of ['gnu', 'pax', 'ustar']) {
      const bytes = execFileSync('tar', [`--format=${format}`, '-cf', '-', '-C', dir.path, 'from']);
      const paths = (await Array.fromAsync(readTar(chunks(bytes, 333)))).map(({ path }) => path);
      expect(paths).toContain(`from/${long}`);
    }
  });
});

describe('extraction', () => {
  test.each([
    ['etc', { source: 'etc', name: 'copy' }, ['copy']],
    ['etc/a/b', { source: 'etc', name: 'copy' }, ['copy', 'a', 'b']],
    ['./a', { source: '.', name: 'copy' }, ['copy', 'a']],
    ['other/a', { source: 'etc', name: 'copy' }, undefined],
    ['etc/../../x', { source: 'etc', name: 'copy' }, undefined],
    ['/etc/x', { source: 'etc', name: 'copy' }, undefined],
    ['..', { source: '.', name: 'copy' }, undefined],
  ])('%s', (path, target, steps) => {
    expect(targetSteps(path, target)).toEqual(steps);
  });

  test('writes files and directories only, below the target, without setuid', async () => {
    await using dir = await createTempDir();
    const bytes = archive(
      ['etc/', '5'],
      ['etc/a', '0', 'A'],
      ['etc/link', '2', '/'],
      ['etc/link/evil', '0', 'E'],
      ['etc/../evil', '0', 'E'],
      ['/evil', '0', 'E'],
    );
    const skipped: string[] = [];
    const onSkipped = (path: string): Promise<void> => Promise.resolve(void skipped.push(path));
    const target = { folder: dir.path, name: 'copy', source: 'etc', onSkipped };
    expect(await extractTar(chunks(bytes, 100), target)).toBe(3);
    expect(skipped).toEqual(['etc/link', 'etc/../evil', '/evil']);
    expect(lstatSync(join(dir.path, 'copy/a')).mode & 0o7777).toBe(0o755);
    expect(lstatSync(join(dir.path, 'copy/link')).isDirectory()).toBe(true);
  });

  test('never writes through a link that is in the target', async () => {
    await using dir = await createTempDir();
    mkdirSync(join(dir.path, 'copy'));
    mkdirSync(join(dir.path, 'outside'));
    symlinkSync('../outside', join(dir.path, 'copy/sub'));
    symlinkSync('../outside/file', join(dir.path, 'copy/file'));
    const target = { folder: dir.path, name: 'copy', source: 'x', onSkipped: () => Promise.resolve() };
    const extract = (path: string): Promise<number> =>
      extractTar(chunks(archive([path, '0', 'E']), 512), target);
    await expect(extract('x/sub/file')).rejects.toThrow(/sub exists and is not a directory/);
    await expect(extract('x/file')).rejects.toThrow(/cannot write .*copy\/file/);
  });
});

describe('operands of cp', () => {
  test.each([
    ['web:/etc', { kind: 'pod', pod: 'web', path: '/etc' }],
    ['shop/web:etc', { kind: 'pod', pod: 'shop/web', path: 'etc' }],
    ['./a:b', { kind: 'local', path: './a:b' }],
    ['/a:b', { kind: 'local', path: '/a:b' }],
    ['a', { kind: 'local', path: 'a' }],
  ])('%s', (text, place) => {
    expect(parsePlace(text)).toEqual(place);
  });

  test.each([
    ['/etc/nginx', { parent: '/etc', name: 'nginx' }],
    ['/etc/', { parent: '/', name: 'etc' }],
    ['a', { parent: '.', name: 'a' }],
    ['a/b', { parent: 'a', name: 'b' }],
    ['/', { parent: '/', name: '.' }],
    ['.', { parent: '.', name: '.' }],
    ['/a/..', { parent: '/a/..', name: '.' }],
  ])('%s', (path, parts) => {
    expect(splitPath(path)).toEqual(parts);
  });
});

describe('wrapped commands', () => {
  const NONE: ExecSettings = { user: undefined, workdir: undefined, env: [], detach: false };
  const runIn = (settings: Partial<ExecSettings>, argv: readonly string[]): string => {
    const [program = '', ...args] = wrapCommand({ ...NONE, ...settings }, argv);
    return execFileSync(program, args, { encoding: 'utf8' });
  };

  test('a command without settings is unchanged', () => {
    expect(wrapCommand(NONE, ['ls', '-l'])).toEqual(['ls', '-l']);
  });

  test('directory and variables are data, never part of the script', () => {
    const hostile = '$(touch x) "; exit 1 \' ';
    const argv = ['sh', '-c', 'printf "%s|%s|%s|" "$(pwd)" "$A" "$B"; printf "%s," "$@"', 'sh', hostile, ''];
    expect(runIn({ workdir: '/usr', env: [`A=${hostile}`, 'B='] }, argv)).toBe(
      `/usr|${hostile}||${hostile},,`,
    );
  });

  test('a missing directory is exit code 126', () => {
    const [program = '', ...args] = wrapCommand({ ...NONE, workdir: '/no/such' }, ['true']);
    expect(() => execFileSync(program, args, { stdio: 'ignore' })).toThrow(
      expect.objectContaining({ status: 126 }),
    );
  });

  test.each([
    [['A=1', 'b_2='], undefined],
    [['A'], 'A'],
    [['1A=2'], '1A=2'],
    [['A B=2'], 'A B=2'],
  ])('%j', (env, invalid) => {
    expect(invalidVariable(env)).toBe(invalid);
  });
});
