/** Renders docs/flags.md: flags, configuration fields and feature gates from their tables. */

import { effectText } from '#api/schema/effect.ts';
import { FEATURE_GATES } from '#api/schema/feature-gates.ts';
import { gateSummary } from '#api/schema/gate-effects.ts';
import { UPSTREAM_CONFIG_KIND, VOCABULARIES } from '#api/vocabulary.ts';
import { SETTING_GROUPS, type Setting, type SettingFlag, type SettingGroup } from './setting.ts';
import { SETTINGS } from './table.ts';
import { upstreamField, upstreamFlag, upstreamGate } from './upstream.ts';

const code = (text: string): string => `\`${text}\``;
const cell = (text: string): string => text.replaceAll('|', '\\|');
const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;

function flagCell(flag: SettingFlag): string {
  const short = flag.short === undefined || flag.short === flag.name ? '' : `, ${code(`-${flag.short}`)}`;
  const upstream = upstreamFlag(flag.name);
  const name = flag.name.length === 1 ? `-${flag.name}` : `--${flag.name}`;
  return `${code(name)}${short}${upstream === undefined ? '' : ` (${code(`--${upstream}`)})`}`;
}

function fieldCell(setting: Setting): string {
  if (setting.inFile === undefined) return '';
  const upstream = upstreamField(setting.key);
  return `${code(setting.key)}${upstream === undefined ? '' : ` (${code(upstream)})`}`;
}

function defaultCell(setting: Setting): string {
  const show = (value: Setting['default']): string => {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return text === '' || text === '{}' || text === '[]' ? 'none' : code(text);
  };
  const file = setting.fileDefault === undefined ? '' : `; with a file ${show(setting.fileDefault)}`;
  return `${show(setting.default)}${file}`;
}

function rangeText([low, high]: NonNullable<Setting['range']>): string {
  if (low === null) return high === null ? '' : `At most ${high}.`;
  return high === null ? `At least ${low}.` : `${low} to ${high}.`;
}

function deprecationText({ name, deprecated, removedIn }: SettingFlag, several: boolean): string {
  if (deprecated === undefined) return '';
  const subject = several ? `${code(`--${name}`)} is deprecated` : 'Deprecated';
  if (deprecated === 'config-file') return `${subject}: prefer the file.`;
  return removedIn === undefined ? `${subject}.` : `${subject}, removal was announced for ${removedIn}.`;
}

function noteCell(setting: Setting): string {
  const several = setting.flags.length > 1;
  const values = setting.enum?.filter((value) => value !== '').map(code) ?? [];
  const gates = setting.gates?.map(code) ?? [];
  const parts = [
    setting.acted === true ? '' : `*Without effect, ${effectText(setting.acted)}.* Elsewhere:`,
    setting.help,
    values.length === 0 ? '' : `One of ${values.join(', ')}.`,
    setting.range === undefined ? '' : rangeText(setting.range),
    setting.zeroMeans === 'default' ? '0 is the default.' : '',
    gates.length === 0 ? '' : `Needs ${gates.join(' and ')}.`,
    ...(setting.acted === true ? setting.flags.map((flag) => deprecationText(flag, several)) : []),
  ];
  return parts.filter((part) => part !== '').join(' ');
}

function renderGroup(group: SettingGroup): string {
  const rows = SETTINGS.filter((setting) => setting.group === group).map((setting) =>
    row([
      setting.flags.map(flagCell).join('<br>'),
      fieldCell(setting),
      setting.type,
      defaultCell(setting),
      noteCell(setting),
    ]),
  );
  return [
    `## ${group}`,
    '',
    row(['Flag', 'Field', 'Type', 'Default', 'Meaning']),
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

const namesOf = (settings: readonly Setting[]): string =>
  settings.map(({ key, flags }) => code(flags[0] === undefined ? key : `--${flags[0].name}`)).join(', ');

function renderWithoutEffect(): string {
  const named = (state: 'ignored' | 'not implemented'): string =>
    namesOf(SETTINGS.filter(({ acted }) => acted !== true && acted.state === state));
  return [
    '## Settings without effect',
    '',
    'These are accepted, validated and shown, and have no effect. `nodeagent run --help` and `nodeagent config` mark them,',
    'and the agent warns at startup when one is set to a value other than its actual behaviour.',
    '',
    `Not implemented: ${named('not implemented')}.`,
    '',
    `Ignored, as they do not apply to this agent: ${named('ignored')}.`,
    '',
  ].join('\n');
}

function gateRow({ name, stage, default: isOn }: (typeof FEATURE_GATES)[number]): string {
  const upstream = upstreamGate(name);
  const { by, note } = gateSummary(name);
  return row([
    `${code(name)}${upstream === undefined ? '' : ` (${code(upstream)})`}`,
    stage.toLowerCase(),
    isOn ? 'on' : 'off',
    by.map(code).join(', '),
    typeof note === 'string'
      ? note === ''
        ? ''
        : `Only ${note}.`
      : `*Without effect, ${effectText(note)}.*`,
  ]);
}

function renderGates(): string {
  return [
    '## Feature gates',
    '',
    'A gate has an effect in the named programs. Both accept it, and each warns at startup when one is',
    'set that changes nothing in it.',
    '',
    row(['Gate', 'Stage', 'Default', 'Effect in', 'Note']),
    '|---|---|---|---|---|',
    ...FEATURE_GATES.map(gateRow),
    '',
  ].join('\n');
}

function renderIntroduction(): string {
  const { configApiGroup, configKind } = VOCABULARIES.plat;
  const upstreamGroup = VOCABULARIES.kubernetes.configApiGroup;
  return `<!-- Generated by \`npm run gen\` from agent/config/settings; do not edit. -->
# Flags and configuration fields

A flag overrides the configuration file, and the file the default. \`nodeagent config\` prints the values in
force and the source of each.

The file is YAML or JSON, one document of kind \`${configKind}\` in \`${configApiGroup}/v1beta1\`;
\`${UPSTREAM_CONFIG_KIND}\` in \`${upstreamGroup}/v1beta1\` is the same. A spelling in parentheses is upstream's,
which is accepted everywhere. Relative paths in flags start at the working directory, those in the file at the
directory of the file.

Files that upstream's installer wrote start the agent unchanged: in the file, a zero stands for the default wherever
upstream takes it so, and fields and feature gates of other releases (1.20 to 1.33) are ignored with one warning that
names them.

| Type | As a flag | In the file |
|---|---|---|
| bool | \`--x\`, \`--x=false\` | \`true\`, \`false\` |
| duration | \`1m30s\`, \`100ms\`, \`4h\` | the same, as a string |
| quantity | \`10Mi\`, \`1.5Gi\`, \`100m\` | the same |
| strings | \`a,b\`; the flag may be repeated | a list of strings |
| map, gates | \`name=value,name=value\`; may be repeated | a mapping |
| thresholds | \`memory.available<100Mi,nodefs.available<10%\` | a mapping of signal to value |
| headers | \`name:value,name:value\`; may be repeated | a mapping of name to a list of values |
| modules | \`pattern=level,pattern=level\` | a list of \`filePattern\` and \`verbosity\` |
| taints | \`key=value:effect,key:effect\` | a list of \`key\`, \`value\` and \`effect\` |
| memory | \`0:memory=1Gi,hugepages-1Gi=2Gi\`; may be repeated | a list of \`numaNode\` and \`limits\` |
| priorities | no flag | a list of \`priority\` and \`shutdownGracePeriodSeconds\` |
`;
}

/** Returns the text of docs/flags.md. */
export function renderFlagsPage(): string {
  return [
    renderIntroduction(),
    ...SETTING_GROUPS.map(renderGroup),
    renderWithoutEffect(),
    renderGates(),
  ].join('\n');
}
