/** `nodeagent join` */
import { dirname, join, resolve } from 'node:path';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES, type Vocabulary, type VocabularyName } from '#api/vocabulary.ts';
import { type Arguments, type OptionTable, parseArguments, parseChoice } from '../args/arguments.ts';
import { parseSeconds } from '../args/duration.ts';
import type { Command } from '../command.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../errors.ts';
import { renderHelp } from '../help.ts';
import { printable } from '../views/table.ts';

const OPTIONS = {
  token: { type: 'string', value: 'TOKEN', help: 'bootstrap token' },
  'ca-cert-hash': {
    type: 'string',
    multiple: true,
    value: 'sha256:HEX',
    help: 'hash of the public key of the cluster CA; may be repeated',
  },
  'unsafe-skip-ca-verification': {
    type: 'boolean',
    help: 'trust any server that knows the token, without --ca-cert-hash',
  },
  'hostname-override': { type: 'string', value: 'NAME', help: 'name of the node (the host name)' },
  'cert-dir': {
    type: 'string',
    value: 'DIR',
    help: 'directory for keys and certificates (/var/lib/nodeagent/pki)',
  },
  platconfig: {
    type: 'string',
    value: 'FILE',
    help: "the node's client configuration (/etc/nodeagent/node.platconfig)",
  },
  'bootstrap-kubeconfig': {
    type: 'string',
    value: 'FILE',
    help: 'client configuration with the token (/etc/nodeagent/bootstrap.platconfig)',
  },
  config: {
    type: 'string',
    value: 'FILE',
    help: 'agent configuration file; missing settings are added to it (config.yaml next to the platconfig)',
  },
  vocabulary: {
    type: 'string',
    value: 'WORD',
    help: 'API vocabulary: plat or kubernetes (detected from the server)',
  },
  timeout: {
    type: 'string',
    value: 'DURATION',
    help: 'maximum time to wait for the server and for approval (5m)',
  },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
} as const satisfies OptionTable;

type JoinArguments = Arguments<Extract<keyof typeof OPTIONS, string>>;

const HELP = {
  name: 'join',
  summary:
    'Joins this machine to a cluster: obtains a client certificate with a bootstrap token and configures the agent. Restarts an installed nodeagent.service. `nodeagent leave` undoes it.',
  usage: ['https://HOST:6443 --token TOKEN --ca-cert-hash sha256:HEX [options]'],
  options: OPTIONS,
  examples: [
    [
      'join https://10.0.0.1:6443 --token abcdef.0123456789abcdef --ca-cert-hash sha256:…',
      'use the command that `control-plane-lite token create` prints',
    ],
  ],
} as const;

const VOCABULARY_NAMES = ['plat', 'kubernetes'] as const satisfies readonly VocabularyName[];
const DEFAULT_TIMEOUT = '5m';

export const command: Command = {
  name: 'join',
  help: HELP,
  async run(argv, context) {
    const args = parseArguments(argv, OPTIONS);
    if (args.has('help')) {
      await context.out.write(renderHelp(HELP));
      return 0;
    }
    await runJoin(args, context);
    return 0;
  },
};

async function runJoin(args: JoinArguments, context: CliContext): Promise<void> {
  const [address, ...more] = args.positionals;
  if (address === undefined || more.length > 0)
    throw new UsageError('join requires one address: https://HOST:6443');
  const [{ joinCluster }, { nodeName }, { AGENT_VERSION }] = await Promise.all([
    import('../../join/join.ts'),
    import('../../node/node-facts.ts'),
    import('../../version.ts'),
  ]);
  const { clock, cwd, env, err, out, signal } = context;
  const given = args.text('vocabulary');
  const vocabularies = (
    given === undefined ? VOCABULARY_NAMES : [parseChoice('--vocabulary', given, VOCABULARY_NAMES)]
  ).map((word) => VOCABULARIES[word]);
  const path = (name: 'cert-dir' | 'platconfig' | 'config' | 'bootstrap-kubeconfig', usual: string): string =>
    resolve(cwd, args.text(name) ?? usual);
  const platconfig = path('platconfig', '/etc/nodeagent/node.platconfig');
  const files = {
    certDir: path('cert-dir', '/var/lib/nodeagent/pki'),
    platconfig,
    configFile: path('config', join(dirname(platconfig), 'config.yaml')),
    bootstrapConfig: path('bootstrap-kubeconfig', '/etc/nodeagent/bootstrap.platconfig'),
  };
  const lines: Promise<void>[] = [];
  const say = (text: string): void => void lines.push(out.write(`${printable(text)}\n`));
  const name = nodeName(args.text('hostname-override') ?? '');
  try {
    const flags = (vocabulary: Vocabulary): readonly string[] => nodeFlags(files, args, vocabulary.name);
    const { vocabulary } = await joinCluster(
      {
        clock,
        // Failures are thrown, and steps are reported through onStep.
        log: silentLogger,
        env: Object.fromEntries(
          Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
        ),
        hasTerminal: false,
        passOn: (chunk) => void lines.push(err.write(chunk)),
        userAgent: ({ agentComponent }) => `${agentComponent}/${AGENT_VERSION}`,
        onStep: say,
        onWaiting: (request) =>
          say(`waiting for approval; as an administrator, run: control-plane-lite csr approve ${request}`),
      },
      {
        ...(await whatToTrust(args, address)),
        ...files,
        vocabularies,
        flags,
        nodeName: name,
        timeoutMs: parseSeconds('--timeout', args.text('timeout') ?? DEFAULT_TIMEOUT) * 1000,
      },
      signal,
    );
    say(`this machine has joined as node ${name}`);
    await startAsNode(files.configFile, flags(vocabulary), say);
  } finally {
    await Promise.all(lines);
  }
}

async function whatToTrust(args: JoinArguments, address: string) {
  const { parseAuthorityHash, parseJoinToken, parseServerAddress } = await import('../../join/token.ts');
  const token = args.text('token');
  if (token === undefined) throw new UsageError('join requires --token TOKEN');
  const hashes = args.texts('ca-cert-hash');
  if (hashes.length === 0 && !args.has('unsafe-skip-ca-verification')) {
    throw new UsageError('join requires --ca-cert-hash sha256:HEX, or --unsafe-skip-ca-verification');
  }
  try {
    return {
      server: parseServerAddress(address),
      token: parseJoinToken(token),
      hashes: hashes.map(parseAuthorityHash),
    };
  } catch (thrown) {
    if (thrown instanceof Error) throw new UsageError(thrown.message, { cause: thrown });
    throw thrown;
  }
}

interface JoinFiles {
  readonly certDir: string;
  readonly platconfig: string;
  readonly bootstrapConfig: string;
  readonly configFile: string;
}

/** Restarts the installed unit as the node, or prints how to start the agent. */
async function startAsNode(
  configFile: string,
  flags: readonly string[],
  say: (text: string) => void,
): Promise<void> {
  const { restartInstalledAgent } = await import('#agent/install/agent-unit.ts');
  if (await restartInstalledAgent(configFile, say)) return;
  say('start the agent with:');
  say(`  nodeagent --config=${configFile} ${flags.join(' ')}`);
}

/** Returns the agent flags for the files of the node, and for settings that differ from the defaults. */
function nodeFlags(
  { certDir, platconfig, bootstrapConfig }: JoinFiles,
  args: JoinArguments,
  vocabulary: VocabularyName,
): readonly string[] {
  const name = args.text('hostname-override');
  return [
    `--platconfig=${platconfig}`,
    `--bootstrap-kubeconfig=${bootstrapConfig}`,
    `--cert-dir=${certDir}`,
    '--rotate-certificates',
    ...(name === undefined ? [] : [`--hostname-override=${name}`]),
    ...(vocabulary === 'plat' ? [] : [`--vocabulary=${vocabulary}`]),
  ];
}
