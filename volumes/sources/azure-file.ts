/** azureFile: a share of an Azure storage account, mounted over SMB into the pod's own directory. The
 *  account's key is passed to the helper program in a file that only root can read. Source: volume
 *  sources, document 3 §2.3 and §2.5. */
import type { AzureFilePersistentVolumeSource } from '#api/gen/core-v1.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { mountForPod, runMountHelper, UNMOUNT_WITHOUT_SERVER } from '../network/helper-mount.ts';
import { hasOption, joinMountOptions } from '../network/mount-options.ts';
import { withSecretFile } from '../network/secret-file.ts';
import { readSecretRef } from '../objects/secret-ref.ts';

/** Keys of the secret. Source: upstream. */
const ACCOUNT_NAME = 'azurestorageaccountname';
const ACCOUNT_KEY = 'azurestorageaccountkey';
/** Of the public cloud: the node has no information about others. */
const ENDPOINT = 'file.core.windows.net';

/** Defaults unless the volume's own options override them. Source: upstream, release 1.24. */
const DEFAULTS: Readonly<Record<string, string>> = {
  file_mode: '0777',
  dir_mode: '0777',
  vers: '3.0',
  actimeo: '30',
};

export interface AzureAccount {
  readonly name: string;
  readonly key: string;
}

function textOf(data: ReadonlyMap<string, Buffer>, key: string, secretName: string): string {
  const text = data.get(key)?.toString('utf8').trim() ?? '';
  if (text === '')
    throw new VolumeSetupError(`Secret ${secretName} has no key ${key}, which azureFile needs`);
  return text;
}

/** @throws VolumeSetupError; its message never contains the account's key */
function readAccount(data: ReadonlyMap<string, Buffer>, secretName: string): AzureAccount {
  const name = textOf(data, ACCOUNT_NAME, secretName);
  const key = textOf(data, ACCOUNT_KEY, secretName);
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/i.test(name)) {
    throw new VolumeSetupError(`Secret ${secretName}: ${ACCOUNT_NAME} must be letters, digits and hyphens`);
  }
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(key)) {
    throw new VolumeSetupError(`Secret ${secretName}: ${ACCOUNT_KEY} must be one line`);
  }
  return { name, key };
}

/** @throws VolumeSetupError for a name that is more than a share */
function checkShare(shareName: string): string {
  const parts = shareName.split('/');
  const isName = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (isName && !/[\s,\\:*?"<>|\p{Cc}]/u.test(shareName)) return shareName;
  throw new VolumeSetupError(`azureFile.shareName ${JSON.stringify(shareName)} is not the name of a share`);
}

/** Returns the volume's options, the source's own, and the remaining defaults. Pure. */
export function azureOptions(
  ofVolume: readonly string[],
  { readOnly, fsGroup }: { readonly readOnly: boolean; readonly fsGroup: number | undefined },
): readonly string[] {
  const options = joinMountOptions(ofVolume, readOnly ? ['ro'] : []);
  const defaults = { ...DEFAULTS, ...(fsGroup === undefined ? {} : { gid: String(fsGroup) }) };
  const missing = Object.entries(defaults).filter(([name]) => !hasOption(options, name));
  return [...options, ...missing.map(([name, value]) => `${name}=${value}`)];
}

function secretNamespace(spec: AzureFilePersistentVolumeSource, request: SourceRequest): string {
  if (spec.secretNamespace !== '') return spec.secretNamespace ?? request.namespace;
  throw new VolumeSetupError('azureFile.secretNamespace must not be empty');
}

async function setUp(spec: AzureFilePersistentVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  const { services, mountOptions, signal, fsGroup } = request;
  const readOnly = request.readOnly || spec.readOnly === true;
  const share = checkShare(spec.shareName);
  const options = azureOptions(mountOptions, { readOnly, fsGroup });
  const namespace = secretNamespace(spec, request);
  const dir = await mountForPod(request, 'azure-file', async (at) => {
    const data = await readSecretRef(services.objects, namespace, { name: spec.secretName });
    const { name, key } = readAccount(data, `${namespace}/${spec.secretName}`);
    await withSecretFile(`username=${name}\npassword=${key}\n`, (path) => {
      const source = `//${name}.${ENDPOINT}/${share}`;
      const withLogin = [`credentials=${path}`, ...options];
      return runMountHelper(
        services,
        { type: 'cifs', fileSystem: 'cifs', source, options: withLogin },
        at,
        signal,
      );
    });
  });
  return { hostPath: dir, readOnly, seLinuxRelabel: false, changes: false };
}

export const azureFile: SourcePlugin = defineSource(
  'azureFile',
  {
    summary: 'A share of an Azure storage account.',
    use: 'both',
    mountOptions: true,
    programs: ['mount.cifs'],
    fileSystems: ['cifs'],
    notes: [
      'The secret has the keys azurestorageaccountname and azurestorageaccountkey.',
      'fsGroup becomes the group of all files, through the mount option gid.',
    ],
  },
  setUp,
  UNMOUNT_WITHOUT_SERVER,
);
