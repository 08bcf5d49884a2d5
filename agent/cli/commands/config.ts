/** `nodeagent config`: the configuration of the running agent, or of an agent with given flags. */

import { isObject } from '#api/kit/object.ts';
import { type OptionTable, parseArguments, parseChoice } from '../args/arguments.ts';
import type { LocalApi } from '../client/api-client.ts';
import { textMember } from '../client/responses.ts';
import { type Command, socketOf } from '../command.ts';
import { renderHelp } from '../help.ts';
import {
  AGENT_OPTIONS,
  configOfFlags,
  isOfAgent,
  settingRows,
  splitArguments,
} from '../settings/agent-flags.ts';
import { columnWidths, formatRow } from '../views/table.ts';

const options = {
  changed: { type: 'boolean', help: 'omit settings at their default value' },
  output: { type: 'string', short: 'o', value: 'FORMAT', help: 'yaml or json: print a configuration file' },
  ...AGENT_OPTIONS,
} as const satisfies OptionTable;

const HELP = {
  name: 'config',
  summary:
    'Shows every effective setting and the origin of its value: of the running agent or, with agent flags, of an\n' +
    '  agent that would be started with them.',
  usage: ['[options]', '[options] FLAGS OF THE AGENT…'],
  options,
  examples: [
    ['config --changed', 'settings of the running agent that differ from the defaults'],
    [
      'config --config /etc/nodeagent/config.yaml --max-pods 50',
      'effective settings of an agent with these flags',
    ],
    ['config -o yaml', 'as a configuration file'],
  ],
} as const;

const FORMATS = ['yaml', 'json'] as const;

/** The configuration in the form in which it is printed. */
interface ShownConfig {
  readonly settings: readonly ShownSetting[];
  /** The configuration in the form of a configuration file. */
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
  help: HELP,
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
  const [settings, response] = await Promise.all([
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
    document: isObject(response) ? Object.values(response)[0] : undefined,
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

/** A longer value shifts only its own origin column, not the others. */
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
