/** Output of `control-plane-lite COMMAND --help`. The server's flags are in `--help`. */
import { SETTINGS } from '../config/settings.ts';

interface CommandHelp {
  readonly usage: readonly string[];
  readonly about: string;
  readonly flags: readonly (readonly [flag: string, about: string])[];
}

const DATA_DIR = [
  '--data-dir D',
  `Data directory of the server. Default: ${SETTINGS.dataDir.default}`,
] as const;

const CERT_DIR = [
  '--cert-dir D',
  'Directory of the keys and certificates. Default: pki in the data directory',
] as const;

export const COMMANDS: Readonly<Record<string, CommandHelp>> = {
  token: {
    usage: ['token create [TOKEN] [flags]', 'token list [flags]', 'token delete ID…'],
    about: 'Create, list or delete bootstrap tokens, which nodes join with. Requires a running server.',
    flags: [
      ['--ttl 24h', 'create: lifetime of the token; 0 for no expiry. Default: 24h'],
      [
        '--groups G,…',
        'create: groups in addition to that of joining nodes; each starts with system:bootstrappers:',
      ],
      ['--description TEXT', 'create: purpose of the token'],
      DATA_DIR,
    ],
  },
  csr: {
    usage: ['csr list [flags]', 'csr approve NAME… [flags]', 'csr deny NAME… [flags]'],
    about: 'List, approve or deny certificate signing requests. Requires a running server.',
    flags: [DATA_DIR],
  },
  certificates: {
    usage: [
      'certificates list [flags]',
      'certificates rotate [CA…] [flags]',
      'certificates finish [CA…] [flags]',
    ],
    about:
      'List the generated certificates, or replace certificate authorities (all, or ca, server-ca, node-serving-ca, ' +
      'front-proxy-ca). After rotate, the former ones stay trusted until finish. Works whether or not the server runs.',
    flags: [DATA_DIR, CERT_DIR],
  },
  backup: {
    usage: ['backup FILE [flags]', 'backup --directory D [--retain N] [flags]'],
    about:
      'Write the embedded store and the keys of the server to a new file, while the server runs. The file ' +
      'contains every secret of the cluster; only its owner may read it.',
    flags: [
      ['--directory D', 'Name the file by the time, in this directory'],
      ['--retain N', 'With --directory: remove older backups there, so that N remain'],
      [
        '--without-keys',
        'Leave out the CA and the keys (the folder pki); a server restored from the file generates new ones',
      ],
      DATA_DIR,
      CERT_DIR,
    ],
  },
  restore: {
    usage: ['restore FILE [flags]'],
    about:
      'Restore a backup into the data directory of a stopped server. Nodes, tokens and certificates stay valid if the ' +
      'backup contains the keys.',
    flags: [
      [
        '--force',
        'Replace the existing store and keys; the old ones stay beside them under names with .replaced',
      ],
      ['--without-keys', 'Leave the keys unchanged even if the backup contains some'],
      DATA_DIR,
      CERT_DIR,
    ],
  },
  install: {
    usage: ['install [flags]'],
    about:
      'Install the program, its user, control-plane-lite.service and the timer of its backups, and start them. ' +
      'Repeated, it replaces the program and restarts the server; settings and data stay.',
    flags: [
      ['--root D', 'Install the files below D and start nothing'],
      ['--no-start', 'Install without starting'],
    ],
  },
  uninstall: {
    usage: ['uninstall [flags]'],
    about: 'Stop the server and remove the installed files. Settings, data and backups stay.',
    flags: [
      ['--root D', 'Remove the files below D'],
      ['--purge', 'Also remove settings, data and backups'],
    ],
  },
  version: { usage: ['version'], about: 'Print the version of the program and of the API.', flags: [] },
};

/** Returns the help of a command; undefined for an unknown one. */
export function commandHelp(name: string): string | undefined {
  const help = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (help === undefined) return undefined;
  const width = Math.max(0, ...help.flags.map(([flag]) => flag.length));
  return [
    ...help.usage.map((line) => `control-plane-lite ${line}`),
    '',
    help.about,
    ...(help.flags.length === 0 ? [] : ['', 'Flags:']),
    ...help.flags.map(([flag, about]) => `  ${flag.padEnd(width)}  ${about}`),
  ].join('\n');
}
