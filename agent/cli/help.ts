/** Renders the text of `nodeagent COMMAND --help`. Pure. */
import type { OptionSpec, OptionTable } from './args/arguments.ts';

export interface HelpFacts {
  readonly name: string;
  readonly summary: string;
  readonly usage: readonly string[];
  readonly options: OptionTable;
  readonly examples: readonly (readonly [line: string, what: string])[];
}

export function renderHelp({ name, summary, usage, options, examples }: HelpFacts): string {
  const lines = usage.map((text) => `nodeagent ${name} ${text}`.trimEnd());
  return [
    `${lines.join('\n')}\n\n  ${summary}\n`,
    examples.length === 0 ? '' : `\nExamples:\n${columns(examples.map(exampleRow))}`,
    `\nOptions:\n${columns(Object.entries(options).map(optionRow))}`,
  ].join('');
}

const exampleRow = ([line, what]: readonly [string, string]): readonly [string, string] => [
  `nodeagent ${line}`.trimEnd(),
  what,
];

function optionRow([name, { short, value, type, help }]: readonly [string, OptionSpec]): readonly [
  string,
  string,
] {
  const letter = short === undefined ? '    ' : `-${short}, `;
  return [`${letter}--${name}${type === 'string' ? ` ${value ?? 'VALUE'}` : ''}`, help];
}

/** Formats two indented columns; the second begins after the longest entry of the first. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}   ${right}`.trimEnd().concat('\n')).join('');
}
