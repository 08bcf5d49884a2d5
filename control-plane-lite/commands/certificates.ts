/** `control-plane-lite certificates list|rotate|finish`: the generated certificates, and the replacement of their
 *  authorities. Works on files, which a running server follows. */
import { X509Certificate } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import yargs from 'yargs';
import { messageOf } from '#api/kit/error-chain.ts';
import { formatTime } from '#api/meta/time.ts';
import { ConfigError, describeProblem } from '../config/parse.ts';
import { SETTINGS } from '../config/settings.ts';
import {
  AUTHORITY_NAMES,
  type AuthorityName,
  dropFormer,
  isProposed,
  proposeAuthority,
  replacedAuthorities,
} from '../identity/authorities.ts';
import { keysDirOf } from '../identity/keys-dir.ts';
import { becomeOwner } from './data-owner.ts';
import { formatTable } from './table.ts';

type Action = 'list' | 'rotate' | 'finish';

interface CertificatesCommand {
  readonly action: Action;
  readonly names: readonly AuthorityName[];
  readonly dir: string;
}

const USAGE =
  'usage: control-plane-lite certificates list, certificates rotate [CA…], certificates finish [CA…]; each with [--data-dir D] [--cert-dir D]';

const isAction = (text: string): text is Action => ['list', 'rotate', 'finish'].includes(text);
const isAuthority = (text: string): text is AuthorityName => AUTHORITY_NAMES.some((name) => name === text);

/** @throws ConfigError with the correct usage */
function parseCertificatesCommand(argv: readonly string[]): CertificatesCommand {
  const problems: string[] = [];
  const parsed = yargs([...argv])
    .option('data-dir', { type: 'string', default: SETTINGS.dataDir.default })
    .option('cert-dir', { type: 'string', default: SETTINGS.certDir.default })
    .parserConfiguration({ 'camel-case-expansion': false })
    .strictOptions()
    .exitProcess(false)
    .help(false)
    .version(false)
    .fail((message: string, error: Error | undefined) => {
      const text = message === '' && error !== undefined ? error.message : message;
      problems.push(...describeProblem(text, argv, ['data-dir', 'cert-dir']));
    })
    .parseSync();
  const [action = '', ...words] = parsed._.map(String);
  const unknown = words.filter((word) => !isAuthority(word));
  for (const word of unknown) {
    problems.push(`${JSON.stringify(word)} is none of the authorities ${AUTHORITY_NAMES.join(', ')}`);
  }
  if (!isAction(action) || (action === 'list' && words.length > 0)) problems.push(USAGE);
  if (problems.length > 0 || !isAction(action)) throw new ConfigError(problems);
  const named = words.filter(isAuthority);
  return {
    action,
    names: named.length === 0 ? AUTHORITY_NAMES : named,
    dir: keysDirOf({ dataDir: parsed['data-dir'], certDir: parsed['cert-dir'] }),
  };
}

const line = (name: string): string => name.replaceAll('\n', ', ');

async function listCertificates(dir: string, files: readonly string[]): Promise<string> {
  const rows = await Promise.all(
    files
      .filter((file) => file.endsWith('.crt'))
      .toSorted()
      .map(async (file) => {
        const { subject, issuer, validTo } = new X509Certificate(await readFile(join(dir, file)));
        return [file, line(subject), line(issuer), formatTime(Date.parse(validTo))];
      }),
  );
  return formatTable([['FILE', 'SUBJECT', 'ISSUER', 'EXPIRES'], ...rows]);
}

const ROTATED =
  'a running server uses them at once, any other when it starts. Both the former and the new authorities are trusted until: ' +
  'control-plane-lite certificates finish. Before that, give clients the new ones (docs/certificates.md).';

async function rotate({ dir, names }: CertificatesCommand, nowMs: number): Promise<string> {
  const replaced = (await replacedAuthorities(dir)).filter((name) => names.includes(name));
  if (replaced.length > 0) {
    throw new ConfigError([
      `${replaced.join(', ')}: already being replaced; end that first: control-plane-lite certificates finish`,
    ]);
  }
  for (const name of names) await proposeAuthority(dir, name, nowMs);
  return `new authorities: ${names.join(', ')}; ${ROTATED}`;
}

async function finish({ dir, names }: CertificatesCommand): Promise<string> {
  const replaced = (await replacedAuthorities(dir)).filter((name) => names.includes(name));
  if (replaced.length === 0) throw new ConfigError(['no authority is being replaced']);
  const proposed = await Promise.all(replaced.map((name) => isProposed(dir, name)));
  if (proposed.includes(true))
    throw new ConfigError(['the server has not taken over the new authorities yet; start it']);
  for (const name of replaced) await dropFormer(dir, name);
  return `the former authorities are trusted no longer: ${replaced.join(', ')}`;
}

/** Returns the exit code. @throws ConfigError */
export async function runCertificatesCommand(
  argv: readonly string[],
  nowMs: number,
  print: (text: string) => void,
): Promise<number> {
  const command = parseCertificatesCommand(argv);
  const { dir } = command;
  await becomeOwner(dir);
  const files = await readdir(dir).catch((cause: unknown) => {
    throw new ConfigError([
      `${dir} cannot be read: ${messageOf(cause)}; start the server once to generate it`,
    ]);
  });
  switch (command.action) {
    case 'list':
      print(await listCertificates(dir, files));
      return 0;
    case 'rotate':
      print(await rotate(command, nowMs));
      return 0;
    case 'finish':
      print(await finish(command));
      return 0;
    default:
      return command.action satisfies never;
  }
}
