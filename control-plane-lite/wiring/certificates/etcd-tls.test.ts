import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createAuthority } from '#api/pki/certificate.ts';
import type { EtcdTls } from '../../store/etcd/servers.ts';
import { followEtcdTls } from './etcd-tls.ts';
import { createFollow } from './follow.ts';

const ending = new AbortController();
const follow = createFollow({ clock: systemClock, log: silentLogger }, ending.signal);
afterAll(() => ending.abort());

let dir: string;
const file = (name: string): string => join(dir, name);
const authority = (commonName: string): ReturnType<typeof createAuthority> =>
  createAuthority({ commonName }, new Date('2020-01-01'), new Date('2040-01-01'));
const [one, other] = [authority('one'), authority('other')];

beforeAll(() => {
  dir = mkdtempSync('/tmp/na-etcd-tls-');
  writeFileSync(file('one.crt'), one.certificate);
  writeFileSync(file('one.key'), one.key);
  writeFileSync(file('other.key'), other.key);
  writeFileSync(file('text'), 'hello');
  writeFileSync(file('damaged'), one.certificate.replace(/\n[^-]{20}/, '\nAAAAAAAAAAAAAAAAAAAA'));
});
afterAll(() => rmSync(dir, { recursive: true }));

const read = async (ca: string, cert: string, key: string): Promise<EtcdTls | undefined> => {
  const [etcdCafile = '', etcdCertfile = '', etcdKeyfile = ''] = [ca, cert, key].map((name) =>
    name === '' ? '' : file(name),
  );
  return (await followEtcdTls({ etcdCafile, etcdCertfile, etcdKeyfile }, follow))?.current();
};

describe('the files for etcd', () => {
  test('are read, those that are given', async () => {
    const bytes = (text: string): Buffer => Buffer.from(text);
    expect(await read('', '', '')).toBeUndefined();
    expect(await read('one.crt', '', '')).toEqual({ ca: bytes(one.certificate) });
    const pair = { cert: bytes(one.certificate), key: bytes(one.key) };
    expect(await read('', 'one.crt', 'one.key')).toEqual(pair);
    expect(await read('one.crt', 'one.crt', 'one.key')).toEqual({ ca: bytes(one.certificate), ...pair });
  });

  test.each([
    ['none', '', '', '--etcd-cafile', 'none', 'cannot be read'],
    ['text', '', '', '--etcd-cafile', 'text', 'contains no certificate in PEM form'],
    ['damaged', '', '', '--etcd-cafile', 'damaged', 'contains no certificate in PEM form'],
    ['', 'one.key', 'one.key', '--etcd-certfile', 'one.key', 'contains no certificate in PEM form'],
    ['', 'one.crt', 'none', '--etcd-keyfile', 'none', 'cannot be read'],
    ['', 'one.crt', 'text', '--etcd-keyfile', 'text', 'contains no key in PEM form for '],
    ['', 'one.crt', 'other.key', '--etcd-keyfile', 'other.key', 'contains no key in PEM form for '],
  ])('ca "%s", certificate "%s", key "%s": %s is named', async (ca, cert, key, option, name, words) => {
    await expect(read(ca, cert, key)).rejects.toThrow(`${option}: ${file(name)} ${words}`);
  });
});
