/** What `control-plane-lite COMMAND --help` prints: of the command alone. The server's flags are in `--help`. */
import { SETTINGS } from '../config/settings.ts';

interface CommandHelp {
  readonly usage: readonly string[];
  readonly about: string;
  readonly flags: readonly (readonly [flag: string, about: string])[];
}

const DATA_DIR = ['--data-dir D', `Folder of the server. Default: ${SETTINGS.dataDir.default}`] as const;

export const COMMANDS: Readonly<Record<string, CommandHelp>> = {
  token: {
    usage: ['token create [TOKEN] [flags]', 'token list [flags]', 'token delete ID…'],
    about: 'Create, list or delete the tokens that machines join with. Needs a running server.',
    flags: [
      ['--ttl 24h', 'create: how long the token is valid; 0 for no end. Default: 24h'],
      ['--groups G,…', 'create: groups beside that of joining nodes; each begins with system:bootstrappers:'],
      ['--description TEXT', 'create: what the token is for'],
      DATA_DIR,
    ],
  },
  csr: {
    usage: ['csr list [flags]', 'csr approve NAME… [flags]', 'csr deny NAME… [flags]'],
    about: 'List, approve or deny requests for certificates. Needs a running server.',
    flags: [DATA_DIR],
  },
  backup: {
    usage: ['backup FILE [flags]'],
    about:
      'Write the embedded store and the keys of the server to a new file, while the server runs. The file ' +
      'holds every secret of the cluster; only its owner may read it.',
    flags: [
      [
        '--without-keys',
        'Leave out the authority and the keys (the folder pki); a server restored from it has others',
      ],
      DATA_DIR,
    ],
  },
  restore: {
    usage: ['restore FILE [flags]'],
    about:
      'Put a backup into the folder of a server that does not run. Nodes, tokens and certificates stay valid if the ' +
      'backup has the keys.',
    flags: [
      [
        '--force',
        'Replace the store and the keys that are there; they are kept beside, under names with .replaced',
      ],
      ['--without-keys', 'Leave the keys as they are, whatever the backup has'],
      DATA_DIR,
    ],
  },
  version: { usage: ['version'], about: 'Print the version of the program and of the API.', flags: [] },
};

/** The help of a command, or undefined where there is no such command. */
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
