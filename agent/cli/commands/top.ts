/** `nodeagent top` */

import { availableParallelism } from 'node:os';
import type { Summary } from '#api/gen/stats-v1alpha1.ts';
import { sleep } from '#api/kit/clock.ts';
import { isObject } from '#api/kit/object.ts';
import { decode } from '#api/schema/decode.ts';
import { parseChoice } from '../args/arguments.ts';
import { parseSeconds } from '../args/duration.ts';
import { ApiError, type LocalApi } from '../client/api-client.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { DATA_HELP, parseDataFormat } from '../output/output-format.ts';
import { printData } from '../output/print.ts';
import { printable } from '../views/table.ts';
import { SORT_KEYS, screenOf, type TopOptions, topLines } from '../views/top-view.ts';

const DEFAULT_INTERVAL = '2s';
const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';
const CLEAR = '\u001B[2J';

export const command: Command = defineCommand({
  name: 'top',
  summary:
    'Shows the resource usage of the node and its pods: live in a terminal, otherwise once. The marks (!) in the\n' +
    '  gauges are eviction thresholds.',
  usage: ['[options]'],
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only pods of this namespace' },
    sort: { type: 'string', value: 'KEY', help: 'cpu, memory, storage or name (cpu)' },
    containers: { type: 'boolean', help: 'also show each container' },
    hardware: { type: 'boolean', help: 'print the hardware that /proc does not report, and exit' },
    interval: { type: 'string', value: 'DURATION', help: `refresh interval (${DEFAULT_INTERVAL})` },
    once: { type: 'boolean', help: 'print once, even in a terminal' },
    output: { type: 'string', short: 'o', value: 'FORMAT', help: `${DATA_HELP}: the whole summary, once` },
    watch: { type: 'boolean', short: 'w', help: 'keep refreshing, even without a terminal' },
  },
  examples: [
    ['top', 'pods by CPU usage, live'],
    ['top --sort memory --containers', 'containers by memory usage'],
    ['top | head -12', 'plain text, once'],
  ],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('top takes no arguments');
    const { out, api, clock, signal } = context;
    if (args.has('hardware')) {
      await out.write(await hardwareText());
      return 0;
    }
    const format = parseDataFormat(args.text('output'));
    if (format !== undefined) {
      await printData(out, format, await api.json({ path: ['stats', 'summary'], signal }));
      return 0;
    }
    const sort = args.text('sort');
    const seconds = parseSeconds('--interval', args.text('interval') ?? DEFAULT_INTERVAL);
    const intervalMs = Math.max(1, seconds) * 1000;
    const options: Omit<TopOptions, 'conditions'> = {
      cores: availableParallelism(),
      thresholds: await fetchThresholds(api),
      sort: sort === undefined ? 'cpu' : parseChoice('--sort', sort, SORT_KEYS),
      namespace: args.text('namespace'),
      containers: args.has('containers'),
    };
    if (out.terminal !== undefined && !args.has('once')) {
      await showLive(context, options, intervalMs);
      return 0;
    }
    for (;;) {
      const lines = await collectLines(context, options);
      await out.write(`${lines.join('\n')}\n`);
      if (!args.has('watch')) return 0;
      await sleep(clock, intervalMs, signal);
      await out.write('\n');
    }
  },
});

async function hardwareText(): Promise<string> {
  const [{ hardwareLines }, { readHardware }] = await Promise.all([
    import('../../doctor/hardware/lines.ts'),
    import('../../doctor/hardware/read.ts'),
  ]);
  const lines = hardwareLines(await readHardware());
  if (lines.length === 0) return 'The machine reports no hardware.\n';
  return lines.map(({ subject, detail }) => `${subject}: ${printable(detail)}\n`).join('');
}

/** Refreshes until the signal fires. */
async function showLive(
  context: CommandContext,
  options: Omit<TopOptions, 'conditions'>,
  intervalMs: number,
): Promise<void> {
  const { out, clock, signal } = context;
  await out.write(`${HIDE_CURSOR}${CLEAR}`);
  try {
    for (;;) {
      await out.write(screenOf(await collectLines(context, options), sizeOf(out.terminal?.())));
      await sleep(clock, intervalMs, signal);
    }
  } finally {
    await out.write(SHOW_CURSOR);
  }
}

/** Terminals with an unknown size report 0. */
const sizeOf = (size: { columns: number; rows: number } | undefined) => ({
  columns: size?.columns || 80,
  rows: size?.rows || 24,
});

/** @throws AgentUnreachableError, ApiError */
async function collectLines(
  { api, clock, signal }: CommandContext,
  options: Omit<TopOptions, 'conditions'>,
): Promise<readonly string[]> {
  const [summary, conditions] = await Promise.all([fetchSummary(api, signal), fetchConditions(api, signal)]);
  return topLines(summary, { ...options, conditions }, clock.now());
}

/** Returns the pressure conditions of the node; empty for an older agent, which does not report them. */
async function fetchConditions(api: LocalApi, signal: AbortSignal): Promise<readonly string[]> {
  const response = await api.json({ path: ['pressure'], signal }).catch((thrown: unknown) => {
    if (thrown instanceof ApiError) return {};
    throw thrown;
  });
  const conditions: unknown = isObject(response) ? response['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.filter((one) => typeof one === 'string') : [];
}

/** @throws AgentUnreachableError, ApiError */
async function fetchSummary(api: LocalApi, signal: AbortSignal): Promise<Summary> {
  const response = await api.json({ path: ['stats', 'summary'], signal });
  const lenient = { unknownFields: 'ignore', missingFields: 'ignore' } as const;
  return decode<Summary>('stats/v1alpha1.Summary', response, lenient).value;
}

/** Hard eviction thresholds by signal. */
async function fetchThresholds(api: LocalApi): Promise<Readonly<Record<string, string>>> {
  const response = await api.json({ path: ['configz'] });
  const [config] = isObject(response) ? Object.values(response) : [];
  const hard = isObject(config) ? config['evictionHard'] : undefined;
  const pairs = isObject(hard) ? Object.entries(hard) : [];
  return Object.fromEntries(
    pairs.flatMap(([signal, limit]): readonly [string, string][] =>
      typeof limit === 'string' ? [[signal, limit]] : [],
    ),
  );
}
