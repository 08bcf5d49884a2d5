/** Configuration of the running agent, or of an agent that would be started with given flags. Shared by
 *  commands that accept agent flags after their own options. */

import { readFile } from 'node:fs/promises';
import { isObject } from '#api/kit/object.ts';
import type { EffectiveSetting } from '../../config/effective.ts';
import { listMember } from '../client/responses.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../errors.ts';

/** Options shared by these commands. */
export const AGENT_OPTIONS: {
  readonly socket: { readonly type: 'string'; readonly value: 'PATH'; readonly help: string };
  readonly help: { readonly type: 'boolean'; readonly short: 'h'; readonly help: string };
} = {
  socket: { type: 'string', value: 'PATH', help: 'socket of the agent, when no other flag is given' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
};

/** Separates the options of the command from the flags of the agent. */
export function splitArguments(argv: readonly string[]): {
  readonly own: readonly string[];
  readonly flags: readonly string[];
} {
  const own: string[] = [];
  const flags: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    const isOutput = word === '-o' || word === '--output';
    if (isOutput) own.push(...argv.slice(index, index + 2));
    else if (/^(?:--changed|--output|-o|--help|-h)(?:$|=)/.test(word)) own.push(word);
    else flags.push(word);
    if (isOutput) index += 1;
  }
  return { own, flags };
}

/** Reports whether no flag besides the socket was given. */
export const isOfAgent = (flags: readonly string[]): boolean => {
  const [first = '--socket='] = flags;
  return first.startsWith('--socket=') ? flags.length <= 1 : first === '--socket' && flags.length <= 2;
};

/** Settings in a response of the agent. */
export const settingRows = (response: unknown): readonly Readonly<Record<string, unknown>>[] =>
  listMember(response, 'settings').filter(isObject);

/** Removes the quotes with which settings are displayed. */
export function plainText(shown: string): string {
  if (!shown.startsWith('"')) return shown;
  const value: unknown = JSON.parse(shown);
  return typeof value === 'string' ? value : shown;
}

export interface FlagsConfig {
  readonly settings: readonly EffectiveSetting[];
  /** Settings in the form of a configuration file. */
  readonly document: unknown;
}

/** Returns the configuration that results from the flags. Errors and warnings are printed on standard error;
 *  undefined if there are errors.
 *  @throws UsageError */
export async function configOfFlags(
  flags: readonly string[],
  { cwd, err }: Pick<CliContext, 'cwd' | 'err'>,
): Promise<FlagsConfig | undefined> {
  const [{ loadConfig }, { formatConfigError }, { configDocument, effectiveSettings }] = await Promise.all([
    import('../../config/load.ts'),
    import('../../config/errors.ts'),
    import('../../config/effective.ts'),
  ]);
  const loaded = await loadConfig(flags, { readFile, cwd });
  if (loaded.kind === 'help' || loaded.kind === 'version')
    throw new UsageError('--version takes no configuration');
  for (const warning of loaded.warnings) await err.write(`nodeagent: ${warning}\n`);
  if (loaded.kind === 'ok') {
    const { config, origins } = loaded;
    return { settings: effectiveSettings(config, origins), document: configDocument(config) };
  }
  for (const error of loaded.errors) await err.write(`nodeagent: ${formatConfigError(error)}\n`);
  return undefined;
}
