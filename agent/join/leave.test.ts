import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTempDir } from '../../testing/temp.ts';
import { leaveCluster } from './leave.ts';
import { mergeNodeConfig } from './node-config.ts';
import { formatJoinRecord, isPlainFlag, parseJoinRecord } from './record.ts';

const { plat } = VOCABULARIES;

test('a record is read as it was written', () => {
  const record = {
    flags: ['--platconfig=/a', '--hostname-override=n-1.example'],
    added: ['authorization.mode', 'kind'],
    madeConfig: true,
    files: ['/a b', '/c'],
  };
  expect(parseJoinRecord(formatJoinRecord(record))).toEqual(record);
  expect(parseJoinRecord('')).toEqual({ flags: [], added: [], madeConfig: false, files: [] });
  expect(['--a=b c', '--a="', "--a='", '--a=$b', '--a=\\'].filter(isPlainFlag)).toEqual([]);
});

async function joined(dir: string, before: string | undefined): Promise<string> {
  const config = `${dir}/config.yaml`;
  const { text, added } = mergeNodeConfig(
    before,
    plat,
    { authorityFile: `${dir}/pki/cluster-ca.crt` },
    config,
  );
  await mkdir(`${dir}/pki`);
  await writeFile(`${dir}/real.yaml`, text);
  await symlink('real.yaml', config);
  const names = ['cluster-ca.crt', 'nodeagent-client-1.pem', 'nodeagent-client-current.pem', 'mine.pem'];
  for (const name of names) await writeFile(`${dir}/pki/${name}`, '');
  await writeFile(`${dir}/node.platconfig`, '');
  const files = [`${dir}/node.platconfig`, `${dir}/gone`, `${dir}/pki/cluster-ca.crt`];
  const madeConfig = before === undefined;
  await writeFile(`${dir}/join.env`, formatJoinRecord({ flags: [], added, madeConfig, files }));
  return config;
}

test('leaving restores the configuration behind its link, and retains files of others', async () => {
  await using dir = await createTempDir();
  const before = `# mine\napiVersion: ${plat.configApiGroup}/v1beta1\nkind: ${plat.configKind}\nmaxPods: 7\n`;
  const config = await joined(dir.path, before);
  const said: string[] = [];
  expect(await leaveCluster(config, (text) => said.push(text))).toBe(true);
  expect(await readFile(`${dir.path}/real.yaml`, 'utf8')).toBe(before);
  expect((await readdir(dir.path, { recursive: true })).toSorted()).toEqual([
    'config.yaml',
    'pki',
    'pki/mine.pem',
    'real.yaml',
  ]);
  expect(said[0]).toContain('serverTLSBootstrap');
  expect(await leaveCluster(config, () => undefined)).toBe(false);
});

test('leaving removes a configuration that joining created', async () => {
  await using dir = await createTempDir();
  const config = await joined(dir.path, undefined);
  await leaveCluster(config, () => undefined);
  expect(await readdir(dir.path)).not.toContain('real.yaml');
});
