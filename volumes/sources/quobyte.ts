/** quobyte: a volume of a Quobyte system. The client of a registry is mounted once per node, and exposes
 *  each volume for a user and group as a directory, which is bind-mounted into the pod's own. Source:
 *  volume sources, document 3 §2.3. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { QuobyteVolumeSource } from '#api/gen/core-v1.ts';
import { errorCode } from '#api/kit/errno.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { holdPath } from '../files/held-dir.ts';
import { ensureMounted, runMountHelper, UNMOUNT_WITHOUT_SERVER } from '../network/helper-mount.ts';
import { joinMountOptions } from '../network/mount-options.ts';
import { mountAt } from '../network/mount-state.ts';
import { formatServerWithPort } from '../network/server-address.ts';

/** Upstream's defaults. */
const DEFAULT_USER = 'root';
const DEFAULT_GROUP = 'nfsnobody';

/** One name in `<user>#<group>@<volume>`. */
function checkPart(field: string, text: string): string {
  if (/^[^/#@\p{Cc}]+$/u.test(text) && text !== '.' && text !== '..') return text;
  throw new VolumeSetupError(`quobyte.${field} ${JSON.stringify(text)} must be a name without /, # and @`);
}

/** Returns the name under which the client exposes the volume. @throws VolumeSetupError */
export function quobyteFolder({ volume, user = '', group = '' }: QuobyteVolumeSource): string {
  const as = checkPart('user', user === '' ? DEFAULT_USER : user);
  const asGroup = checkPart('group', group === '' ? DEFAULT_GROUP : group);
  return `${as}#${asGroup}@${checkPart('volume', volume)}`;
}

/** Returns the registry's servers in the helper's form. @throws VolumeSetupError */
export function quobyteSource(registry: string): string {
  const servers = registry.replace(/\/$/, '').split(',');
  return `${servers.map((server) => formatServerWithPort('quobyte.registry', server)).join(',')}/`;
}

/** Volumes share a client if registry, tenant and options are the same. */
function clientName(domain: string, source: string, tenant: string, options: readonly string[]): string {
  const owner = tenant === '' ? '' : `${checkPart('tenant', tenant)}@`;
  return [`${domain}/quobyte/${owner}${source}`, ...options].join(',');
}

async function bindFolder(request: SourceRequest, folder: string, dir: string): Promise<void> {
  const { mounter } = request.services;
  if ((await mountAt(mounter, dir)) !== undefined) return;
  try {
    await using source = await holdPath(folder);
    await mkdir(dir, { recursive: true, mode: 0o750 });
    await mounter.bind(source, dir);
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
    throw new VolumeSetupError('quobyte.volume: the registry has no such volume for this user and group', {
      cause: thrown,
    });
  }
}

async function setUp(spec: QuobyteVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  const { services } = request;
  const dir = request.dir('quobyte');
  const folder = quobyteFolder(spec);
  const source = quobyteSource(spec.registry);
  const options = joinMountOptions(request.mountOptions, ['allow-usermapping-in-volumename']);
  const client = await request.stage({
    uniqueName: clientName(services.domain, source, spec.tenant ?? '', options),
    stage: ({ globalMount }, signal) =>
      ensureMounted(services, globalMount, () =>
        runMountHelper(
          services,
          { type: 'quobyte', fileSystem: 'fuse', source, options },
          globalMount,
          signal,
        ),
      ),
  });
  await bindFolder(request, join(client.globalMount, folder), dir);
  const readOnly = request.readOnly || spec.readOnly === true;
  return { hostPath: dir, readOnly, seLinuxRelabel: false, changes: false };
}

export const quobyte: SourcePlugin = defineSource(
  'quobyte',
  {
    summary: 'A volume of a Quobyte system.',
    use: 'both',
    mountOptions: true,
    programs: ['mount.quobyte'],
    fileSystems: ['fuse'],
    notes: [
      'All volumes of a registry share one mount of the client, except that tenants never share a mount.',
      'Quobyte maps files to the user and group that the volume names: fsGroup is not applied.',
    ],
  },
  setUp,
  UNMOUNT_WITHOUT_SERVER,
);
