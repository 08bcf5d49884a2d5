/** Runs commands against the running server: from arguments to output. */
import yargs from 'yargs';
import { systemClock } from '#api/kit/clock.ts';
import { DurationError, parseDurationMs } from '#api/meta/duration.ts';
import { ConfigError, describeProblem } from '../config/parse.ts';
import { SETTINGS } from '../config/settings.ts';
import { type AdminClient, CommandError, connectAsAdmin } from './admin-client.ts';

export type ServerCommand = 'token' | 'csr';

const USAGES: Readonly<Record<ServerCommand, string>> = {
  token:
    'token create [TOKEN] [--ttl 24h] [--description TEXT] [--groups G,…], token list, token delete ID…; each with [--data-dir D]',
  csr: 'csr list, csr approve NAME…, csr deny NAME…; each with [--data-dir D]',
};

interface CommandArguments {
  readonly dataDir: string;
  readonly action: string;
  readonly names: readonly string[];
  readonly ttlMs: number;
  readonly description: string;
  readonly groups: readonly string[];
}

function durationOf(text: string): number {
  try {
    const ms = parseDurationMs(text);
    if (ms >= 0) return ms;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw new ConfigError([
    `--ttl: ${JSON.stringify(text)} is not a duration; use 24h, 30m, or 0 for no expiry`,
  ]);
}

/** @throws ConfigError with the correct usage */
export function parseServerCommand(command: ServerCommand, argv: readonly string[]): CommandArguments {
  const problems: string[] = [];
  const creates = command === 'token' && argv.includes('create');
  const options = ['data-dir', ...(creates ? ['ttl', 'description', 'groups'] : [])];
  const parsed = yargs([...argv])
    .string(options)
    .parserConfiguration({ 'camel-case-expansion': false, 'parse-positional-numbers': false })
    .strictOptions()
    .exitProcess(false)
    .help(false)
    .version(false)
    .fail((message: string, error: Error | undefined) => {
      problems.push(
        ...describeProblem(message === '' && error !== undefined ? error.message : message, argv, options),
      );
    })
    .parseSync();
  const text = (name: string, otherwise: string): string => {
    const value: unknown = parsed[name];
    return typeof value === 'string' ? value : otherwise;
  };
  const [action = '', ...names] = parsed._.map(String);
  const fits =
    action === 'list'
      ? names.length === 0
      : action === 'create'
        ? command === 'token' && names.length <= 1
        : (command === 'token' ? ['delete'] : ['approve', 'deny']).includes(action) && names.length > 0;
  if (!fits) problems.push(`usage: control-plane-lite ${USAGES[command]}`);
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    dataDir: text('data-dir', SETTINGS.dataDir.default),
    action,
    names,
    ttlMs: durationOf(text('ttl', '24h')),
    description: text('description', ''),
    groups: text('groups', '')
      .split(',')
      .filter((group) => group !== ''),
  };
}

async function tokenLines(
  client: AdminClient,
  { action, names, ...wanted }: CommandArguments,
): Promise<readonly string[]> {
  const { createToken, deleteToken, listTokens } = await import('./token.ts');
  if (action === 'list') return [await listTokens(client)];
  if (action === 'create') {
    return [await createToken(client, { ...wanted, token: names[0] ?? '' }, systemClock)];
  }
  return Promise.all(names.map((name) => deleteToken(client, name)));
}

async function requestLines(
  client: AdminClient,
  { action, names }: CommandArguments,
): Promise<readonly string[]> {
  const { decideRequest, listRequests } = await import('./csr.ts');
  const nowMs = systemClock.now();
  if (action === 'list') return [await listRequests(client, nowMs)];
  const type = action === 'approve' ? 'Approved' : 'Denied';
  return Promise.all(names.map((name) => decideRequest(client, name, type, nowMs)));
}

/** Returns the exit code. @throws ConfigError */
export async function runServerCommand(
  command: ServerCommand,
  argv: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  const parsed = parseServerCommand(command, argv);
  try {
    await using client = await connectAsAdmin(parsed.dataDir);
    const lines = await (command === 'token' ? tokenLines(client, parsed) : requestLines(client, parsed));
    for (const line of lines) print(line);
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof CommandError)) throw thrown;
    throw new ConfigError([thrown.message]);
  }
}
