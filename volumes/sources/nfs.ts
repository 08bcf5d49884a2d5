/** nfs: a directory exported by an NFS server, mounted into the pod's own directory. Source: volume
 *  sources, document 3 §2.3. */
import type { NFSVolumeSource } from '#api/gen/core-v1.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { mountForPod, runMountHelper, UNMOUNT_WITHOUT_SERVER } from '../network/helper-mount.ts';
import { joinMountOptions } from '../network/mount-options.ts';
import { checkServerPath, formatServer } from '../network/server-address.ts';

async function setUp(spec: NFSVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  const { services, mountOptions, signal } = request;
  const readOnly = request.readOnly || spec.readOnly === true;
  const mount = {
    type: 'nfs',
    fileSystem: 'nfs',
    source: `${formatServer('nfs.server', spec.server)}:${checkServerPath('nfs.path', spec.path)}`,
    options: joinMountOptions(mountOptions, readOnly ? ['ro'] : []),
  };
  const dir = await mountForPod(request, 'nfs', (at) => runMountHelper(services, mount, at, signal));
  return { hostPath: dir, readOnly, seLinuxRelabel: false, changes: false };
}

export const nfs: SourcePlugin = defineSource(
  'nfs',
  {
    summary: 'A directory that an NFS server exports.',
    use: 'both',
    mountOptions: true,
    programs: ['mount.nfs'],
    fileSystems: ['nfs'],
    notes: ['The server decides the ownership of files: fsGroup is not applied.'],
  },
  setUp,
  UNMOUNT_WITHOUT_SERVER,
);
