/** The two images that need no registry: the sandbox image, built from catatonit, and a small demo system,
 *  built from the machine's static busybox. Both are built from installed files. */
import type { ImageDescription } from './image-archive.ts';
import type { TarEntry } from './tar.ts';

/** Names as used in manifests and in the runtime's configuration. */
export const PAUSE_IMAGE = 'local/pause:1';
const BUSYBOX_IMAGE = 'local/busybox:1';

/** Returns the name under which the runtime stores an image with a short name. */
function storedImageName(shortName: string): string {
  return `docker.io/${shortName}`;
}

/** Only reaps orphans, as process 1 of a pod. `catatonit` is the content of the program. */
export function describePauseImage(catatonit: Uint8Array): ImageDescription {
  return {
    name: storedImageName(PAUSE_IMAGE),
    entries: [{ kind: 'file', path: 'pause', mode: 0o555, content: catatonit }],
    entrypoint: ['/pause', '-P'],
    user: '65535:65535',
    workingDir: '/',
  };
}

const PASSWD = [
  'root:x:0:0:root:/root:/bin/sh',
  'daemon:x:1:1:daemon:/:/bin/false',
  'www-data:x:33:33:www-data:/srv:/bin/false',
  'app:x:1000:1000:app:/home/app:/bin/sh',
  'nobody:x:65534:65534:nobody:/:/bin/false',
];
const GROUP = ['root:x:0:', 'daemon:x:1:', 'www-data:x:33:', 'app:x:1000:', 'nogroup:x:65534:'];

/** A shell, the usual small tools, a web server and a few users.
 *  `applets` are paths as `busybox --list-full` prints them, without a leading slash. */
export function describeBusyboxImage(busybox: Uint8Array, applets: readonly string[]): ImageDescription {
  const directories: readonly TarEntry[] = [
    ...[
      'bin',
      'sbin',
      'usr',
      'usr/bin',
      'usr/sbin',
      'etc',
      'dev',
      'proc',
      'sys',
      'run',
      'srv',
      'var',
      'home',
    ].map((path): TarEntry => ({ kind: 'directory', path, mode: 0o755 })),
    { kind: 'directory', path: 'root', mode: 0o700 },
    { kind: 'directory', path: 'home/app', mode: 0o755, uid: 1000 },
    { kind: 'directory', path: 'tmp', mode: 0o1777 },
    { kind: 'directory', path: 'var/tmp', mode: 0o1777 },
  ];
  return {
    name: storedImageName(BUSYBOX_IMAGE),
    entries: [
      ...directories,
      text('etc/passwd', PASSWD),
      text('etc/group', GROUP),
      text('etc/nsswitch.conf', ['hosts: files dns']),
      { kind: 'file', path: 'bin/busybox', mode: 0o755, content: busybox },
      ...appletLinks(applets),
    ],
    command: ['/bin/sh'],
    env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
    workingDir: '/',
  };
}

/** Links for the applets in the four program directories of the image, in a fixed order. */
function appletLinks(applets: readonly string[]): readonly TarEntry[] {
  return [...new Set(applets)]
    .filter((path) => /^(?:usr\/)?s?bin\/[^/]+$/.test(path) && path !== 'bin/busybox')
    .sort()
    .map((path) => ({ kind: 'symlink', path, target: '/bin/busybox' }));
}

function text(path: string, lines: readonly string[]): TarEntry {
  return { kind: 'file', path, mode: 0o644, content: Buffer.from(`${lines.join('\n')}\n`) };
}
