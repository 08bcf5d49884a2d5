/** `nodeagent config`: the configuration of the agent that runs, or the one that some flags would make. */
import { AGENT_OPTIONS, configOfFlags, isOfAgent, settingRows, splitArguments } from './agent-flags.ts';
import { isPlainObject, textMember } from './answers.ts';
import type { LocalApi } from './api-client.ts';
import { type OptionTable, parseArguments, parseChoice } from './arguments.ts';
import { type Command, socketOf } from './command.ts';
import { renderHelp } from './help.ts';
import { columnWidths, formatRow } from './table.ts';

const options = {
  changed: { type: 'boolean', help: 'leave out what is at its default' },
  output: { type: 'string', short: 'o', value: 'FORMAT', help: 'yaml or json: a configuration file' },
  ...AGENT_OPTIONS,
} as const satisfies OptionTable;

const HELP = {
  name: 'config',
  summary:
    'Shows every setting in force and where its value comes from: of the agent that runs or, with flags of the\n' +
    '  agent, of an agent that would be started with them.',
  usage: ['[options]', '[options] FLAGS OF THE AGENT…'],
  options,
  examples: [
    ['config --changed', 'what differs from the defaults in the agent that runs'],
    ['config --config /etc/nodeagent/config.yaml --max-pods 50', 'what these would come to'],
    ['config -o yaml', 'as a configuration file'],
  ],
} as const;

const FORMATS = ['yaml', 'json'] as const;

/** The configuration as it is shown. */
interface ShownConfig {
  readonly settings: readonly ShownSetting[];
  /** As a configuration file has it. */
  readonly document: unknown;
}

interface ShownSetting {
  readonly key: string;
  readonly value: string;
  readonly origin: string;
  readonly note: string;
}

export const command: Command = {
  name: 'config',
  async run(argv, context) {
    const { own, flags } = splitArguments(argv);
    const args = parseArguments(own, options);
    if (args.has('help')) {
      await context.out.write(renderHelp(HELP));
      return 0;
    }
    const output = args.text('output');
    const format = output === undefined ? undefined : parseChoice('--output', output, FORMATS);
    const shown = isOfAgent(flags)
      ? await configOfAgent(context.connect(socketOf(parseArguments(flags, options), context)))
      : await configOfFlags(flags, context);
    if (shown === undefined) return 1;
    await context.out.write(await formatConfig(shown, format, args.has('changed')));
    return 0;
  },
};

async function configOfAgent(api: LocalApi): Promise<ShownConfig> {
  const [settings, answer] = await Promise.all([
    api.json({ path: ['config'] }),
    api.json({ path: ['configz'] }),
  ]);
  return {
    settings: settingRows(settings).map((row) => ({
      key: textMember(row, 'key'),
      value: textMember(row, 'value'),
      origin: textMember(row, 'origin'),
      note: textMember(row, 'note'),
    })),
    document: isPlainObject(answer) ? Object.values(answer)[0] : undefined,
  };
}

async function formatConfig(
  { settings, document }: ShownConfig,
  format: (typeof FORMATS)[number] | undefined,
  changedOnly: boolean,
): Promise<string> {
  if (format === 'json') return `${JSON.stringify(document, undefined, 2)}\n`;
  if (format === 'yaml') return (await import('#api/codec/yaml.ts')).formatYaml(document);
  return settingsTable(settings.filter(({ origin }) => !changedOnly || !/^default(?: |$)/.test(origin)));
}

/** A longer value moves its own origin to the right, not those of all others. */
const WIDEST_VALUE = 60;

function settingsTable(settings: readonly ShownSetting[]): string {
  const hasNotes = settings.some(({ note }) => note !== '');
  const rows = [
    ['SETTING', 'VALUE', 'ORIGIN', ...(hasNotes ? ['WITHOUT EFFECT'] : [])],
    ...settings.map(({ key, value, origin, note }) => [key, value, origin, ...(note === '' ? [] : [note])]),
  ];
  const [keyWidth = 0, valueWidth = 0, originWidth = 0] = columnWidths(rows);
  const widths = [
    keyWidth,
    Math.min(valueWidth, WIDEST_VALUE),
    ...(hasNotes ? [Math.min(originWidth, WIDEST_VALUE)] : []),
  ];
  return rows.map((row) => formatRow(row, widths)).join('');
}
