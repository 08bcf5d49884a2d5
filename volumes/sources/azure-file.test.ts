import { readFile, stat } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import type { AzureFilePersistentVolumeSource } from '#api/gen/core-v1.ts';
import {
  type Behaviour,
  createTestRequest,
  optionsOf,
  type ProgramCall,
  type TestRequest,
  testSecret,
} from '../network/request.fixture.ts';
import { azureFile, azureOptions } from './azure-file.ts';

const KEY = 'c2VjcmV0IGtleQ==';
const ACCOUNT = { azurestorageaccountname: 'store1', azurestorageaccountkey: KEY };
const SPEC = { secretName: 'login', shareName: 'share' };

async function served(behave?: Behaviour): Promise<TestRequest> {
  const request = await createTestRequest(behave);
  request.secrets.set('default/login', testSecret('default', 'login', ACCOUNT));
  request.secrets.set('storage/login', testSecret('storage', 'login', ACCOUNT));
  return request;
}

const credentialsOf = (call: ProgramCall): string =>
  optionsOf(call)
    .find((option) => option.startsWith('credentials='))
    ?.slice('credentials='.length) ?? '';

describe('azureFile', () => {
  it('mounts the share of the account, with the credentials in a file readable only by root', async () => {
    let seen: unknown;
    await using requested = await served(async (call) => {
      const path = credentialsOf(call);
      seen = { content: await readFile(path, 'utf8'), mode: (await stat(path)).mode & 0o7777 };
      return undefined;
    });
    await requested.setUp(azureFile, { azureFile: SPEC });
    expect(seen).toEqual({ content: `username=store1\npassword=${KEY}\n`, mode: 0o600 });
    const [call] = requested.calls;
    expect(call?.program).toBe('mount.cifs');
    expect(call?.args[0]).toBe('//store1.file.core.windows.net/share');
    expect(JSON.stringify(requested.calls)).not.toContain(KEY);
    await expect(stat(credentialsOf(call ?? { program: '', args: [] }))).rejects.toThrow('ENOENT');
  });

  it('neither shows nor retains the key when it fails', async () => {
    await using requested = await served(() => ({ code: 32, stderr: `bad option password=${KEY}` }));
    const failure = await requested.setUp(azureFile, { azureFile: SPEC }).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).not.toContain(KEY);
    expect(JSON.stringify(requested.remembered)).not.toContain(KEY);
  });

  it('reads the secret in the namespace that a PersistentVolume specifies', async () => {
    await using requested = await served();
    requested.secrets.delete('default/login');
    await expect(requested.setUp(azureFile, { azureFile: SPEC })).rejects.toThrow(
      'Secret default/login not found',
    );
    await requested.setUp(azureFile, { azureFile: { ...SPEC, secretNamespace: 'storage' } });
    expect(requested.calls).toHaveLength(1);
  });

  it('is read-only if the volume or the use of its claim is', async () => {
    await using requested = await served();
    const ready = await requested.setUp(azureFile, { azureFile: { ...SPEC, readOnly: true } });
    expect(ready.readOnly).toBe(true);
    expect(optionsOf(requested.calls[0] ?? { program: '', args: [] })).toContain('ro');
    await using claimed = await served();
    const used = await claimed.setUp(azureFile, { azureFile: SPEC }, { readOnly: true });
    expect(used.readOnly).toBe(true);
    expect(optionsOf(claimed.calls[0] ?? { program: '', args: [] })).toContain('ro');
  });

  const REFUSED: readonly (readonly [Partial<AzureFilePersistentVolumeSource>, string])[] = [
    [{ shareName: '' }, 'azureFile.shareName'],
    [{ shareName: '../x' }, 'azureFile.shareName'],
    [{ shareName: 'a,uid=0' }, 'azureFile.shareName'],
    [{ shareName: 'a\\b' }, 'azureFile.shareName'],
    [{ secretNamespace: '' }, 'azureFile.secretNamespace'],
    [{ secretName: '' }, 'secretRef.name'],
  ];
  it.each(REFUSED)('rejects %j', async (spec, field) => {
    await using requested = await served();
    await expect(requested.setUp(azureFile, { azureFile: { ...SPEC, ...spec } })).rejects.toThrow(field);
    expect(requested.calls).toEqual([]);
  });

  it.each([
    [{ azurestorageaccountname: 'store1' }, 'no key azurestorageaccountkey'],
    [{ azurestorageaccountkey: KEY }, 'no key azurestorageaccountname'],
    [{ ...ACCOUNT, azurestorageaccountname: 'evil.example.com/x' }, 'azurestorageaccountname'],
    [{ ...ACCOUNT, azurestorageaccountkey: 'a\ndomain=b' }, 'must be one line'],
  ])('rejects a secret with %j', async (data, message) => {
    await using requested = await served();
    requested.secrets.set('default/login', testSecret('default', 'login', data));
    await expect(requested.setUp(azureFile, { azureFile: SPEC })).rejects.toThrow(message);
    expect(requested.calls).toEqual([]);
  });
});

describe('azureOptions', () => {
  const DEFAULT = ['file_mode=0777', 'dir_mode=0777', 'vers=3.0', 'actimeo=30'];
  test.each([
    ['defaults', [], {}, DEFAULT],
    ['fsGroup', [], { fsGroup: 2000 }, [...DEFAULT, 'gid=2000']],
    ['a group of the volume’s own', ['gid=7'], { fsGroup: 2000 }, ['gid=7', ...DEFAULT]],
    [
      'the volume’s own options',
      ['vers=3.1.1,dir_mode=0700', 'nobrl'],
      { readOnly: true },
      ['vers=3.1.1', 'dir_mode=0700', 'nobrl', 'ro', 'file_mode=0777', 'actimeo=30'],
    ],
  ])('%s', (_, ofVolume, asked, options) => {
    expect(azureOptions(ofVolume, { readOnly: false, fsGroup: undefined, ...asked })).toEqual(options);
  });
});
