/** Declaration of the flags for yargs: for splitting a command line and for the help. yargs is loaded on
 *  demand. */
import type { Argv, Options } from 'yargs';
import { effectText } from '#api/schema/effect.ts';
import { effectiveGates } from '#api/schema/gate-effects.ts';
import type { Setting, SettingFlag } from '../setting.ts';
import { SETTINGS } from '../table.ts';
import { canonicalFlag, upstreamFlag } from '../upstream.ts';

const HELP_WIDTH = 110;

function defaultText({ default: value, fileDefault }: Setting): string | undefined {
  const show = (one: Setting['default']): string => {
    if (typeof one !== 'object') return String(one);
    if (Array.isArray(one)) return one.join(',');
    return Object.entries(one)
      .map(([name, text]) => `${name}<${text}`)
      .join(',');
  };
  const file = fileDefault === undefined ? '' : `, ${show(fileDefault)} with a file`;
  const text = `${show(value)}${file}`;
  return text === '' ? undefined : text;
}

function describeFlag(setting: Setting, flag: SettingFlag): string {
  const values = setting.enum?.filter((value) => value !== '') ?? [];
  const parts = [
    setting.acted === true ? '' : `NO EFFECT, ${effectText(setting.acted)}. Elsewhere:`,
    setting.help,
    setting.type === 'gates'
      ? `Gates with an effect here: ${effectiveGates('nodeagent').join(', ')}. Others are accepted without effect.`
      : '',
    values.length === 0 ? '' : `One of: ${values.join(', ')}.`,
    flag.deprecated === undefined || setting.acted !== true
      ? ''
      : flag.deprecated === 'config-file'
        ? `(deprecated: set ${setting.key} in the file)`
        : '(deprecated)',
  ];
  return parts.filter((part) => part !== '').join(' ');
}

const NUMBERS: ReadonlySet<Setting['type']> = new Set(['int32', 'int64', 'uint32', 'uint64', 'float']);

/** Type for the help; for splitting, every flag is a string, so that yargs converts nothing. */
function shownType({ type }: Setting): 'boolean' | 'number' | 'string' {
  if (type === 'bool') return 'boolean';
  return NUMBERS.has(type) ? 'number' : 'string';
}

/** Short name and upstream's name. */
function aliasesOf(flag: SettingFlag): string[] {
  const upstream = upstreamFlag(flag.name);
  const short = flag.short === undefined || flag.short === flag.name ? [] : [flag.short];
  return upstream === undefined ? short : [...short, upstream];
}

function optionOf(setting: Setting, flag: SettingFlag): Options {
  const shown = defaultText(setting);
  return {
    type: shownType(setting),
    group: `${setting.group}:`,
    alias: aliasesOf(flag),
    describe: describeFlag(setting, flag),
    ...(shown === undefined ? {} : { defaultDescription: shown }),
  };
}

async function createYargs(): Promise<Argv> {
  const { default: yargs } = await import('yargs');
  const parser = yargs([])
    .scriptName('nodeagent')
    .usage('$0 [flags]\n\nRuns pods on this machine. Flags override the configuration file.')
    .locale('en')
    .detectLocale(false)
    .help(false)
    .version(false)
    .exitProcess(false)
    .strict(false)
    .wrap(HELP_WIDTH);
  for (const setting of SETTINGS) {
    for (const flag of setting.flags) parser.option(flag.name, optionOf(setting, flag));
  }
  return parser;
}

export interface SplitLine {
  /** Each given name in our spelling, with its text or list of texts. */
  readonly named: readonly (readonly [string, unknown])[];
  /** Tokens that are not flags. */
  readonly rest: readonly string[];
}

const PARSING = {
  'boolean-negation': false,
  'camel-case-expansion': false,
  'dot-notation': false,
  'parse-numbers': false,
  'parse-positional-numbers': false,
} as const;

/** Returns a function that splits a command line. Loads the parser only: the whole of yargs would stay in the
 *  memory of an agent that never prints help. */
export async function createFlagParser(): Promise<(tokens: readonly string[]) => SplitLine> {
  const { Parser } = await import('yargs/helpers');
  const flags = SETTINGS.flatMap((setting) => setting.flags.map((flag) => ({ setting, flag })));
  const options = {
    string: flags.map(({ flag }) => flag.name),
    alias: Object.fromEntries(flags.map(({ flag }) => [flag.name, aliasesOf(flag)])),
    configuration: PARSING,
  };
  const shorts = new Map(flags.map(({ flag: { name, short } }) => [short ?? name, name] as const));
  return (tokens) => {
    const parsed: Readonly<Record<string, unknown>> = Parser([...tokens], options);
    const { _: rest, $0: _script, ...given } = parsed;
    const named = new Map(
      Object.entries(given).map(([name, value]) => [shorts.get(name) ?? canonicalFlag(name), value]),
    );
    return { named: [...named], rest: Array.isArray(rest) ? rest.map(String) : [] };
  };
}

/** Returns the text of `--help`: every flag in its group, with its default. */
export async function renderHelp(): Promise<string> {
  return (await createYargs()).getHelp();
}
